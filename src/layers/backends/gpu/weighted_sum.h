/// Sums of several arrays on the GPU: Eltwise forward, Split backward (weighted_sum.h). For files named *_gpu.cpp.
#pragma once

#include <algorithm>
#include <span>

#include "device/gpu/pack.h"
#include "layers/kit/rectifier.h"

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
  static constexpr int kWidth = kPackWidth<T>;
  GpuSumTerm<T> terms[kSumTerms];
  int count;
  float slope;  ///< of what is not above 0 in the end
  T* to;
  bool in_packs() const {
    return on_packs(to) && std::all_of(terms, terms + count, [](const GpuSumTerm<T>& t) { return on_packs(t.data); });
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> sum = {};
    for (int t = 0; t < kSumTerms; ++t) {  // a fixed number, which compilers unroll
      if (t >= count) break;
      const Pack<float, N> term = load_pack<N>(terms[t].data + i);
      for (int k = 0; k < N; ++k) sum.at[k] += terms[t].weight * term.at[k];
    }
    for (int k = 0; k < N; ++k) sum.at[k] = rectified(sum.at[k], slope);
    store_pack(sum, to + i);
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
    for_each_pack(stream, count, add);
  } while (done < terms.size());
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
