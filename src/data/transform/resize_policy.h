/// To a size that a prototxt states: warped, or in proportion (SSD's resize_param).
///
/// Immutable; used by many threads.
#pragma once

#include <string>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/transform/image_step.h"
#include "ops/boxes.h"

namespace robusta {

class ResizePolicy {
 public:
  /// `path`: of the message, for errors: "transform_param.resize_param.". `sized`: whether it states the size itself.
  /// Throws Error{kConfig} in its field.
  ResizePolicy(const caffe::ResizeParameter& param, const std::string& path, bool sized = true);

  /// The same to another size.
  ResizePolicy to(int64_t height, int64_t width) const;

  /// Whether all images come out in one size.
  bool has_one_size() const;
  /// FIT_SMALL_SIZE: the other side follows from the image.
  bool keeps_proportions() const { return param_.resize_mode() == caffe::ResizeParameter::FIT_SMALL_SIZE; }

  bool may_not_apply() const { return param_.prob() < 1; }

  /// Draws whether there is anything to do, and the interpolation. Throws Error{kData}: it would be too large, or
  /// pad_value does not fit the channels.
  bool applies(PhiloxStream& draws) const;
  ImageStep step(const Extent& image, PhiloxStream& draws) const;
  /// The size that an image of this size comes out in. Throws as `step`.
  Extent output(const Extent& image) const;

  /// What of that the image takes; the image's own size where pixels are picked and not mixed.
  Extent wanted_size(const Extent& image) const;

  /// Where a box of an image of this size comes to lie, in parts of the image that comes out.
  Box<float> moved(const Box<float>& box, const Extent& image) const;
  /// SSD's height_scale and width_scale: boxes in parts of this size, whatever that of the crop is; 0 without.
  int64_t height_scale() const { return keeps_proportions() && param_.width_scale() > 0 ? param_.height_scale() : 0; }
  int64_t width_scale() const { return keeps_proportions() && param_.height_scale() > 0 ? param_.width_scale() : 0; }

 private:
  ImageStep sizes(const Extent& image) const;

  caffe::ResizeParameter param_;
};

}  // namespace robusta
