/// Images in another size, with a choice of how pixels between pixels are found.
#pragma once

#include "data/image.h"

namespace robusta {

enum class Interpolation {
  kLinear,   ///< resize_bilinear of data/image.h, with OpenCV's bytes
  kNearest,  ///< OpenCV's bytes, too: that at or before it
  kArea,     ///< the mean over what a pixel covers; made larger, linear where two pixels meet
  kCubic,    ///< four pixels, Keys 1981 with a = -0.75
  kLanczos   ///< eight pixels, a sinc windowed by a wider one
};

/// Pixel centres at half-integers, edges repeated. The last three are summed as floats: OpenCV's fixed point may differ
/// from them by 1. REQUIRES: height, width > 0, bytes, not those of `to`.
void resize_image(const Pixels& from, int64_t height, int64_t width, Interpolation interpolation, Image& to);

}  // namespace robusta
