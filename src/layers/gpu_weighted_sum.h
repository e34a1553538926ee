/// Sums of several arrays on the GPU: Eltwise forward, Split backward (weighted_sum.h). For files named *_gpu.cpp.
#pragma once

#include <algorithm>
#include <span>

#include "device/gpu/for_each.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// One array of a sum.
template <typename T>
struct GpuSumTerm {
  const T* data;
  float weight = 1;
};

namespace detail {

inline constexpr int kSumTerms = 8;  // that one kernel adds

template <typename T>
struct AddTerms {
  GpuSumTerm<T> terms[kSumTerms];
  int count;
  float slope;  ///< of what is not above 0 in the end
  T* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    float sum = 0;
    for (int k = 0; k < kSumTerms; ++k) {  // a fixed number, which compilers unroll
      if (k < count) sum += terms[k].weight * static_cast<float>(terms[k].data[i]);
    }
    to[i] = static_cast<T>(sum > 0 ? sum : slope * sum);
  }
};

}  // namespace detail

/// to[i] = sum of weight * data[i], added in the order of `terms`; what is not above 0 is then multiplied by `slope`.
/// `to` may be the array of the first or the second term. Without terms: zeros.
template <typename T>
void gpu_weighted_sum(Stream* stream, std::span<const GpuSumTerm<T>> terms, float slope, T* to, int64_t count) {
  size_t done = 0;
  do {
    detail::AddTerms<T> add{{}, 0, 1.0f, to};
    if (done > 0) add.terms[add.count++] = {to};
    while (add.count < detail::kSumTerms && done < terms.size()) add.terms[add.count++] = terms[done++];
    if (done == terms.size()) add.slope = slope;
    for_each(stream, count, add);
  } while (done < terms.size());
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
