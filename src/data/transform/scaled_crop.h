/// The crops that temporal segment networks are trained on: parts of an image in a few sizes (multi_scale), each made
/// as large as the crop, at a few places (fix_crop) or anywhere. From src/caffe/data_transformer.cpp of yjxiong/caffe,
/// fillCropSize and fillFixOffset.
///
/// Immutable; used by many threads.
#pragma once

#include <optional>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/transform/image_step.h"

namespace robusta {

class ScaledCrop {
 public:
  /// Null where nothing of it is asked for. Throws Error{kConfig} in a field of transform_param; there has to be a
  /// crop.
  static std::optional<ScaledCrop> of(const caffe::TransformationParameter& param, int64_t crop_height,
                                      int64_t crop_width);

  /// What to do with an image of this size, no smaller than the crop; `draws` are those of this sample.
  std::vector<ImageStep> steps(const Extent& image, PhiloxStream draws) const;

 private:
  ScaledCrop(const caffe::TransformationParameter& param, int64_t crop_height, int64_t crop_width);

  PixelRect draw_size(const Extent& image, PhiloxStream& draws) const;
  void draw_place(const Extent& image, PhiloxStream& draws, PixelRect& part) const;

  int64_t crop_height_, crop_width_;
  std::vector<float> ratios_;  ///< of sides to the shorter one of the image; none: the crop's own size alone
  int64_t max_distort_;        ///< how far the ratios of both sides may be apart in the list
  size_t places_;              ///< that are drawn from; 0: anywhere
};

}  // namespace robusta
