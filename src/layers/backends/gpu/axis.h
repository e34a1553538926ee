/// Tensors seen around one axis, the classes (AxisView), on the GPU: what Softmax, its loss, Accuracy and ArgMax share.
/// For files named *_gpu.cpp.
#pragma once

#include <cfloat>
#include <cmath>

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/kit/axis_view.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Between elements and their coordinates: a position outside of the class axis, and the class.
struct ClassIndex {
  explicit ClassIndex(const AxisView& view)
      : classes(view.classes),
        inner(view.inner),
        by_classes(view.classes > 0 ? view.classes : 1),
        by_inner(inner_of(view)) {}
  ROBUSTA_GPU int64_t element(int64_t position, int64_t c) const {
    if (inner == 1) return position * classes + c;
    const int64_t outer = by_inner.quotient(position);
    return (outer * classes + c) * inner + position - outer * inner;
  }
  /// Returns the class of element i, and i becomes its position.
  ROBUSTA_GPU int64_t take_class(int64_t& i) const {
    if (inner == 1) return by_classes.take_off(i);
    const int64_t within = by_inner.take_off(i), c = by_classes.take_off(i);
    i = i * inner + within;
    return c;
  }

  int64_t classes, inner;
  Divisor by_classes, by_inner;

 private:
  static Divisor inner_of(const AxisView& view) { return Divisor(view.inner > 0 ? view.inner : 1); }
};

/// store(position, join over all classes of term(position, class)).
template <typename Body>
void reduce_classes(Stream* stream, const AxisView& view, const Body& body) {
  // Where classes lie apart, neighbouring threads should read neighbouring positions, if that makes threads enough.
  constexpr int64_t kEnough = 1 << 14;
  if (view.inner > 1 && view.positions() >= kEnough) {
    reduce_rows_by_threads(stream, view.positions(), view.classes, body);
  } else {
    reduce_rows(stream, view.positions(), view.classes, body);
  }
}

/// Of the scores of one position: the largest, and the sum of e^(score - largest).
struct SoftmaxSum {
  float largest, sum;
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

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
