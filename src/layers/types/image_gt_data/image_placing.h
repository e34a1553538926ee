/// Where the image of a sample and its boxes go (zhaoweicai/mscnn, src/caffe/layers/image_gt_data_layer.cpp). Pure
/// arithmetic on the size of the image, so that boxes are known before a pixel is.
///
/// The image may be mirrored, is resized, and then, at every second sample that has boxes, scaled so that one of them,
/// which is drawn, has a size that is drawn: of the scales from min_scale to max_scale, two for each doubling, and
/// maybe with another ratio of its sides. The canvas shows the part around the middle of that box, or anything where
/// there is none, shifted by up to ten pixels; where the image is smaller than the canvas it lies on it. As in mscnn,
/// in single precision.
#pragma once

#include <vector>

#include "base/philox.h"
#include "data/object_file.h"
#include "data/pixels.h"
#include "data/transform/image_step.h"

namespace robusta {

struct PlacingSettings {
  bool mirror = false;
  int64_t resized_height = 0, resized_width = 0;  ///< of every image; 0: as it is
  int64_t height = 0, width = 0;                  ///< of the canvas
  float min_scale = 0, max_scale = 0;             ///< 0: scales are not drawn
  float min_aspect = 0, max_aspect = 0;           ///< width by height; 0: ratios are not drawn
  float min_width = 0, min_height = 0;            ///< of boxes; smaller ones are ignored
};

/// What was drawn for a sample. Each step takes what the one before has left.
struct PlacedImage {
  bool mirror = false;
  int64_t resized_height = 0, resized_width = 0;
  PixelRect cut = {};                     ///< of that
  int64_t height = 0, width = 0;          ///< that the cut is scaled to
  PixelRect shown = {};                   ///< of that
  int64_t top = 0, left = 0;              ///< where on the canvas it is shown
  std::vector<ImageObject> objects = {};  ///< in pixels of the canvas; those that cannot be examples there are ignored
  std::vector<Box<float>> unseen = {};
};

/// Throws Error{kData} where the image would become too large.
PlacedImage place_image(const Extent& image, const ImageObjects& objects, const PlacingSettings& settings,
                        PhiloxStream draws);

}  // namespace robusta
