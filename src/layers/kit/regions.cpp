// Checks of regions, and what to say about them.

#include "layers/kit/regions.h"

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"

namespace robusta {

RegionExtents region_extents(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &features = bottoms[0], &regions = bottoms[1];
  if (features.axes() != 4) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", features.str()),
                "it holds features: batch, channels, height and width")
        .in_field("bottom");
  }
  if (regions.axes() < 2 || regions.count(1) != kRegionNumbers) {
    throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", regions.str()),
                "it holds a row of five numbers for each region: its item of the batch, x1, y1, x2, y2")
        .in_field("bottom");
  }
  if (product_or_most(features[2], features[3]) >= int64_t{1} << 31) {
    throw Error(ErrorKind::kConfig, str("bottom 0 (", features.str(), ") has planes of 2^31 pixels or more"),
                "pool smaller features")
        .in_field("bottom");
  }
  return {features[0], features[1], features[2], features[3], regions[0]};
}

float require_spatial_scale(float scale, const std::string& field) {
  if (require_finite(scale, field) > 0) return scale;
  throw Error(ErrorKind::kConfig, str(last_part(field), " is ", scale),
              "give the size of the features divided by that of the image, such as 0.0625")
      .in_field(field);
}

void throw_bad_region(double number, int64_t place, int64_t items) {
  const int64_t region = place / kRegionNumbers, which = place % kRegionNumbers;
  if (which == 0) {
    throw Error(ErrorKind::kData,
                str("region ", region, " lies in item ", number, " of the batch, which is out of range 0..", items - 1),
                "the first number of a region counts the items of bottom 0 from 0: correct what makes bottom 1");
  }
  constexpr const char* kNames[] = {"", "x1", "y1", "x2", "y2"};
  throw Error(ErrorKind::kData, str("region ", region, " has ", kNames[which], " ", number),
              "coordinates are pixels of the image: correct what makes bottom 1");
}

}  // namespace robusta
