/// Softmax over the classes of each position on the GPU: what Softmax and its loss share. For files named *_gpu.cpp.
///
/// p_c = e^(s_c - m) / sum over k of e^(s_k - m), where m is the position's largest score, so that no exponential
/// overflows. m and the sum of a position stand for all its probabilities.
#pragma once

#include <cfloat>
#include <cmath>

#include "layers/backends/gpu/axis.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Of the scores of one position: the largest, and the sum of e^(score - largest).
struct SoftmaxSum {
  float largest, sum;  ///< sum: of e^(x - largest)
  ROBUSTA_GPU float probability(float score) const { return ::expf(score - largest) / sum; }
};

/// Finds them in one pass (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"). A NaN or positive
/// infinity makes the sum a NaN.
template <typename T>
struct SoftmaxSums {
  using Sum = SoftmaxSum;
  ClassIndex index;
  const T* scores;
  SoftmaxSum* sums;
  ROBUSTA_GPU Sum zero() const { return {-FLT_MAX, 0}; }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const float score = static_cast<float>(scores[index.element(position, c)]);
    if (score <= FLT_MAX) return {score, 1};
    return {-FLT_MAX, score - score};
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    if (a.largest < b.largest) return {b.largest, b.sum + a.sum * ::expf(a.largest - b.largest)};
    return {a.largest, a.sum + b.sum * ::expf(b.largest - a.largest)};
  }
  ROBUSTA_GPU void store(int64_t position, Sum sum) const { sums[position] = sum; }
};

/// The probability of each element. `p` may be `scores`.
template <typename T, typename P>
struct SoftmaxProbability {
  ClassIndex index;
  const T* scores;
  const SoftmaxSum* sums;
  P* p;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t position = i;
    index.take_class(position);
    p[i] = static_cast<P>(sums[position].probability(static_cast<float>(scores[i])));
  }
};

/// Sums over the classes, one for each position: all of a body for reduce_classes but its `term`.
struct ClassSums {
  using Sum = float;
  float* sums;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU void store(int64_t position, Sum sum) const { sums[position] = sum; }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
