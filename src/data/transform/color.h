/// Colours of bytes in other spaces, in OpenCV's arithmetic for bytes. Images have 3 planes in the order B, G, R, or
/// the three of the space; they are changed in place. REQUIRES: image.extent.channels == 3.
#pragma once

#include <cmath>
#include <cstdint>

#include "data/planar_image.h"

namespace robusta {

/// The nearest byte; of halves the even one.
inline uint8_t to_byte(float value) {
  return static_cast<uint8_t>(value <= 0 ? 0 : value >= 255 ? 255 : std::lrint(value));
}

/// Hue in 0..179, steps of 2 degrees; saturation and value in 0..255.
void to_hsv(Image& image);
/// A hue of 180 or more goes round.
void from_hsv(Image& image);

/// Brightness and two differences (ITU-R BT.601, full range), in the order Y, Cr, Cb.
void to_ycrcb(Image& image);
void from_ycrcb(Image& image);

/// All three planes become 0.299 R + 0.587 G + 0.114 B.
void take_colors_away(Image& image);

}  // namespace robusta
