/// Tensors seen around one axis, the classes (AxisView), on the GPU: what Softmax, its loss, Accuracy and ArgMax share.
/// For files named *_gpu.cpp.
#pragma once

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

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
