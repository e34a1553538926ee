/// The axes that the parameter of Scale or Bias spans.
#pragma once

#include <string>

#include "tensor/shape.h"

namespace robusta {

struct SpannedAxes {
  int begin = 0, end = 0;  ///< `end` is behind the last one
};

/// `num_axes` axes of `bottom` from `axis` on. `num_axes` -1: all from there; 0: none, a scalar, and `axis` is ignored.
/// Throws Error{kConfig} naming a field of `message` ("scale_param").
SpannedAxes spanned_axes(const Shape& bottom, int axis, int num_axes, const std::string& message);

/// The axes of `bottom` from `axis` on that a second bottom of shape `second` spans; a scalar spans none.
/// Throws Error{kConfig} when the extents differ.
SpannedAxes matching_axes(const Shape& bottom, int axis, const Shape& second, const std::string& message);

}  // namespace robusta
