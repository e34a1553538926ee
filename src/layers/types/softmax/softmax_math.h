/// Softmax along the middle axis of an array seen as [outer, classes, inner].
///
/// Exact: the reference, any type. Fast: f32, vectorised. Result and argument may be the same memory.
#pragma once

#include <cstdint>

#include "tensor/shape.h"

namespace robusta {

/// A tensor seen around one axis.
struct AxisView {
  int64_t outer, classes, inner;
  AxisView(const Shape& shape, int axis)
      : outer(shape.count(0, axis)), classes(shape[axis]), inner(shape.count(axis + 1)) {}
  int64_t positions() const { return outer * inner; }
};

/// y = e^(x - max) / sum e^(x - max)
template <typename T>
void softmax_exact(const AxisView& view, const T* x, T* y);
void softmax_fast(const AxisView& view, const float* x, float* y);

/// dx = y * (dy - sum y * dy), added to what is there if `add`. dx may be dy unless `add`.
template <typename T>
void softmax_exact_backward(const AxisView& view, const T* y, const T* dy, T* dx, bool add = false);
void softmax_fast_backward(const AxisView& view, const float* y, const float* dy, float* dx);

}  // namespace robusta
