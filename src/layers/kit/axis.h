/// Axis arguments of layers.
#pragma once

#include <string_view>

#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

/// shape.canonical_axis(axis); the error names the prototxt field.
inline int canonical_axis(const Shape& shape, int axis, std::string_view field) {
  try {
    return shape.canonical_axis(axis);
  } catch (Error& error) {
    throw error.in_field(field);
  }
}

}  // namespace robusta
