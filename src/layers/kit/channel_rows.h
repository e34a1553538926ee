/// Loops over the rows of a plain f32 array seen as [outer, count, inner]: what Scale, Bias and InnerProduct do fast.
///
/// Sums are split over the threads by `count` alone, so that their order, hence every bit, is the same for any number
/// of threads. Long sums are carried in double.
#pragma once

#include <cstdint>

namespace robusta {

struct ChannelRows {
  int64_t outer = 1, count = 1, inner = 1;  ///< [outer, count, inner], `count` being the channels

  int64_t elements() const { return outer * count * inner; }

  /// y[o, c, i] = x[o, c, i] * factor[c] + shift[c]; either array may be null, meaning 1 and 0. x may be y.
  void affine(const float* x, const float* factor, const float* shift, float* y) const;

  /// sums[c] = (add ? sums[c] : 0) + sum of a[o, c, i].
  void sum(const float* a, bool add, float* sums) const;

  /// sums[c] = (add ? sums[c] : 0) + sum of a[o, c, i] * b[o, c, i].
  void dot(const float* a, const float* b, bool add, float* sums) const;
};

}  // namespace robusta
