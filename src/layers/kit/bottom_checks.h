/// Checks of bottoms that many layers make.
#pragma once

#include <vector>

#include "base/str.h"
#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

/// Throws Error{kConfig} when a bottom has an extent of zero.
inline void require_elements(const std::vector<Shape>& bottoms) {
  for (size_t i = 0; i < bottoms.size(); ++i) {
    if (bottoms[i].count() == 0) {
      throw Error(ErrorKind::kConfig, str("bottom ", i, " has no elements: its shape is ", bottoms[i].str()),
                  "check the shapes of the layers before");
    }
  }
}

/// Throws Error{kConfig} when the bottoms do not all have the shape of bottom 0.
inline void require_same_shapes(const std::vector<Shape>& bottoms) {
  for (size_t i = 1; i < bottoms.size(); ++i) {
    if (bottoms[i] != bottoms[0]) {
      throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str(), " and bottom 0 has shape ",
                                          bottoms[0].str(), ", but they must be the same"));
    }
  }
}

/// Throws Error{kConfig} unless all bottoms are of as many samples as bottom 0, and as many elements in each.
inline void require_same_items(const std::vector<Shape>& bottoms) {
  for (size_t i = 0; i < bottoms.size(); ++i) {
    const Shape &first = bottoms[0], &other = bottoms[i];
    if (first.axes() > 0 && other.axes() > 0 && other[0] == first[0] && other.count(1) == first.count(1)) continue;
    throw Error(ErrorKind::kConfig, str("bottom ", i, " (", other.str(), ") must have as many samples as bottom 0 (",
                                        first.str(), "), and as many elements in each"))
        .in_field("bottom");
  }
}

}  // namespace robusta
