/// Softmax along the middle axis of an array seen as [outer, classes, inner].
///
/// Exact: the reference, any type. Fast: f32, vectorised. Result and argument may be the same memory.
#pragma once

#include <cstdint>

#include "layers/kit/axis_view.h"

namespace robusta {

/// y = e^(x - max) / sum e^(x - max)
template <typename T>
void softmax_exact(const AxisView& view, const T* x, T* y);
void softmax_fast(const AxisView& view, const float* x, float* y);

/// dx = y * (dy - sum y * dy), added to what is there if `add`. dx may be dy unless `add`.
template <typename T>
void softmax_exact_backward(const AxisView& view, const T* y, const T* dy, T* dx, bool add = false);
void softmax_fast_backward(const AxisView& view, const float* y, const float* dy, float* dx);

}  // namespace robusta
