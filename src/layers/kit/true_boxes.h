/// Boxes of the ground truth, as SSD's data layers give them to losses and evaluations (weiliu89/caffe, branch ssd,
/// bbox_util.cpp).
///
/// A row of a bottom is eight numbers: the item of the batch, the class, which of the item's boxes of that class it is,
/// xmin, ymin, xmax, ymax as parts of the image, and whether the object is difficult to see. A row of item -1 holds
/// nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/boxes.h"
#include "tensor/shape.h"

namespace robusta {

inline constexpr int64_t kTrueBoxNumbers = 8;  ///< item, class, instance, xmin, ymin, xmax, ymax, difficult

struct TrueBox {
  int32_t row, item, label;  ///< of the bottom; of the batch; the class
  bool difficult;
  Box<float> box;  ///< in parts of the image
};

/// What rows may hold: items 0 .. items-1; classes 0 .. classes-1 but the background.
struct TrueBoxLimits {
  int64_t items, classes;
  int64_t background;  ///< outside of 0 .. classes-1: no class is
};

/// How many rows the bottom has. Throws Error{kConfig} unless its last axis is one row.
int64_t true_box_rows(const Shape& shape, int bottom);

/// The boxes of a bottom's rows, in order. Throws the Error{kData} of the first row that cannot be: an item or a class
/// out of range, or a coordinate that is no finite number.
std::vector<TrueBox> read_true_boxes(std::span<const float> numbers, const TrueBoxLimits& limits, int bottom);

}  // namespace robusta
