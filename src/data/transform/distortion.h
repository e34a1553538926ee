/// Brightness, contrast, saturation, hue and order of colours, changed at random (SSD's distort_param).
///
/// Immutable; `apply` may be called from many threads.
#pragma once

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/planar_image.h"

namespace robusta {

class Distortion {
 public:
  /// Throws Error{kConfig} in a field of transform_param.distort_param.
  explicit Distortion(const caffe::DistortionParameter& param);

  /// Throws Error{kData} for an image without three colours where they are needed.
  void apply(Image& image, PhiloxStream& draws) const;

 private:
  void change_contrast(Image& image, PhiloxStream& draws) const;
  void change_colors(Image& image, PhiloxStream& draws) const;

  caffe::DistortionParameter param_;
};

/// p + delta, in 0..255.
void adjust_brightness(Image& image, float delta);
/// p * factor, in 0..255; a factor within 0.001 of 1 changes nothing.
void adjust_contrast(Image& image, float factor);
/// The saturation times `factor`. REQUIRES: 3 channels.
void adjust_saturation(Image& image, float factor);
/// The hue, in steps of 2 degrees, plus delta; as in SSD it stops at 0 on its way down and goes round on its way up.
/// REQUIRES: 3 channels.
void adjust_hue(Image& image, float delta);

}  // namespace robusta
