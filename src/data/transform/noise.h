/// What makes pictures worse on purpose (SSD's noise_param): grey, blurred, equalised, compressed, eroded, with fewer
/// shades, turned to the negative, sprinkled with dots, or in another space of colours; in this order, as in SSD.
///
/// Immutable; `apply` may be called from many threads.
#pragma once

#include <optional>

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/planar_image.h"

namespace robusta {

class Noise {
 public:
  /// Throws Error{kConfig} in a field of transform_param.noise_param, Error{kUnsupported} for convert_to_lab.
  explicit Noise(const caffe::NoiseParameter& param);

  /// Throws Error{kData} for an image without the channels that a setting needs.
  void apply(Image& image, PhiloxStream& draws) const;

 private:
  void sprinkle(Image& image, PhiloxStream& draws) const;

  caffe::NoiseParameter param_;
};

/// The parts, each in place.

/// Gaussian, 7 x 7, with a standard deviation of 1.5; mirrored at the edges.
void blur(Image& image);
/// Each brightness about as frequent as any other: that of colours is Y of Y, Cr, Cb.
void equalise(Image& image);
/// The same in each of 8 x 8 tiles, with frequencies limited to 4 times the mean (Zuiderveld 1994, "Contrast Limited
/// Adaptive Histogram Equalization"); between the middles of tiles what they say is interpolated.
void equalise_tiles(Image& image);
/// The least of a pixel and its four neighbours.
void erode(Image& image);
/// Four shades: 32, 96, 160, 224.
void posterise(Image& image);
/// 255 - p.
void invert(Image& image);

}  // namespace robusta
