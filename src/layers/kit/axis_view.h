/// A tensor seen around one axis, as [outer, classes, inner].
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/shape.h"

namespace robusta {

/// `classes`: the axis itself. A position is an element of the other two.
struct AxisView {
  int64_t outer, classes, inner;  ///< elements before, on and behind the axis
  AxisView(const Shape& shape, int axis)
      : outer(shape.count(0, axis)), classes(shape[axis]), inner(shape.count(axis + 1)) {}
  int64_t positions() const { return outer * inner; }
  /// Of each of `samples`; at least 1, also where there are none.
  int64_t positions_per(int64_t samples) const {
    return std::max<int64_t>(1, positions() / std::max<int64_t>(1, samples));
  }
};

}  // namespace robusta
