/// What image_gt_data_param says, checked. Whatever cannot be throws Error{kConfig} in its field.
#pragma once

#include <vector>

#include "layers/kit/prefetched_source.h"
#include "layers/types/image_gt_data/cell_labels.h"

namespace robusta {

ReadingSettings gt_reading(const caffe::LayerParameter& layer);

/// Sides of the canvas are 0 where the last image of the file says them.
PlacingSettings gt_placing(const caffe::LayerParameter& layer);
/// Images that are not resized may be larger or smaller than the crop, which is then the canvas.
void take_gt_crop(const caffe::ImageGtDataParameter& param, PlacingSettings& settings);
/// Throws where the canvas has too many pixels. `field`: what says its size.
void check_gt_canvas(const PlacingSettings& settings, const char* field);

/// The maps without extents, which follow from the canvas.
std::vector<CellMap> gt_maps(const caffe::LayerParameter& layer);
/// For a canvas of this size.
std::vector<CellMap> sized_maps(std::vector<CellMap> maps, int64_t height, int64_t width);

}  // namespace robusta
