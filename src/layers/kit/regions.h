/// Regions of interest, which pooling cuts into bins (Girshick 2015, "Fast R-CNN", section 2.1).
///
/// A region is a row of five numbers: the item of the batch that it lies in, and the pixels x1, y1, x2, y2 of the image
/// that are its corners. Where its bins lie is computed in single precision whatever type the features have: a bin ends
/// at a whole pixel, so that more digits would choose other pixels than Caffe does.
#pragma once

#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "base/half.h"
#include "layers/kit/labels.h"
#include "layers/kit/tells_shapes.h"
#include "tensor/shape.h"

namespace robusta {

inline constexpr int64_t kRegionNumbers = 5;  ///< item, x1, y1, x2, y2

/// Bottom 0, features [items, channels, height, width], and how many regions bottom 1 holds.
struct RegionExtents {
  int64_t items = 1, channels = 1, height = 1, width = 1, regions = 1;
  ROBUSTA_HOST_DEVICE int64_t plane() const { return height * width; }
};

/// Throws Error{kConfig} unless bottom 0 has these four axes and bottom 1 rows of five numbers. A plane of features has
/// less than 2^31 pixels.
RegionExtents region_extents(const std::vector<Shape>& bottoms);

/// The role of layers that pool the regions of bottom 1.
class WantsRegions : public TellsShapes {
 public:
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    const Shape& regions = bottoms[1];
    const bool fits = bottom != 1 || regions.axes() == 0 || (regions.axes() > 1 && regions.count(1) == kRegionNumbers);
    return fits ? std::nullopt : std::optional(Shape{regions[0], kRegionNumbers});
  }
};

/// Throws Error{kConfig} in `field` unless this is the size of the features by that of the image.
float require_spatial_scale(float scale, const std::string& field);

/// True if number `place` of all rows may be there: an item of the batch, or a finite coordinate.
template <typename T>
ROBUSTA_HOST_DEVICE bool is_region_number(const T* numbers, int64_t place, int64_t items) {
  if (place % kRegionNumbers == 0) {
    const int item = to_label(numbers[place]);
    return item >= 0 && item < items;
  }
  const float coordinate = static_cast<float>(numbers[place]);
  return coordinate >= -FLT_MAX && coordinate <= FLT_MAX;
}

/// Throws the Error{kData} of such a number.
[[noreturn]] void throw_bad_region(double number, int64_t place, int64_t items);

/// Throws it for the first of the rows that is wrong.
template <typename T>
void check_regions(const RegionExtents& extents, const T* numbers) {
  for (int64_t place = 0; place < extents.regions * kRegionNumbers; ++place) {
    if (is_region_number(numbers, place, extents.items)) continue;
    throw_bad_region(static_cast<double>(numbers[place]), place, extents.items);
  }
}

/// A row of numbers that were checked.
struct Region {
  int64_t item = 0;
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  template <typename T>
  ROBUSTA_HOST_DEVICE static Region at(const T* numbers, int64_t region) {
    const T* row = numbers + region * kRegionNumbers;
    return {to_label(row[0]), static_cast<float>(row[1]), static_cast<float>(row[2]), static_cast<float>(row[3]),
            static_cast<float>(row[4])};
  }
};

/// Pixels begin ... end - 1 of one axis.
struct BinSpan {
  int64_t begin = 0, end = 0;
  ROBUSTA_HOST_DEVICE int64_t length() const { return end > begin ? end - begin : 0; }
  ROBUSTA_HOST_DEVICE bool holds(int64_t pixel) const { return pixel >= begin && pixel < end; }
};

/// What of the span lies in an axis of `extent` pixels.
ROBUSTA_HOST_DEVICE inline BinSpan within(BinSpan span, int64_t extent) {
  const auto inside = [extent](int64_t pixel) { return pixel < 0 ? 0 : pixel > extent ? extent : pixel; };
  return {inside(span.begin), inside(span.end)};
}

/// A place among the pixels of the features; one far outside of any image lies nearer, so that integers hold it.
ROBUSTA_HOST_DEVICE inline float near_enough(float place) {
  constexpr float kFarthest = 1 << 30;
  return place < -kFarthest ? -kFarthest : place > kFarthest ? kFarthest : place;
}

}  // namespace robusta
