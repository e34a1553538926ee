/// What the cells of maps of detections should say of an image (Cai et al. 2016, section 3.3; zhaoweicai/mscnn,
/// src/caffe/layers/image_gt_data_layer.cpp). Pure arithmetic.
///
/// A map has a cell for each downsample_rate pixels of the canvas, and each cell six numbers, in planes: class, middle
/// x, middle y, width and height of a box in pixels, and the overlap. A cell belongs to the box that its field, of
/// field_w x field_h pixels around its middle, overlaps most, when that is more than fg_threshold; a cell of an ignored
/// box has class 0 and its overlap, so that it counts for nothing. Cells outside of the image, and those of which 0.4
/// or more lies in regions that are not looked at, have an overlap of 1. A box without any cell has the one at its
/// middle, on the map where the overlap was largest, if that was 0.2 or more and the cell belongs to no other.
#pragma once

#include <cstdint>
#include <span>

#include "layers/types/image_gt_data/image_placing.h"

namespace robusta {

struct CellMap {
  float rate = 1, field_w = 1, field_h = 1;  ///< pixels
  int64_t height = 0, width = 0;             ///< cells

  static constexpr int64_t kNumbers = 6;
  int64_t cells() const { return height * width; }
};

/// Writes all numbers of all maps: `numbers` has kNumbers * cells() for each.
void write_cell_labels(const PlacedImage& image, std::span<const CellMap> maps, float fg_threshold,
                       std::span<float* const> numbers);

}  // namespace robusta
