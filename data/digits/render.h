/// A handwritten digit as a grey image: random strokes, pen, distortion and noise.
///
/// A pure function of (seed, set, index). Only + - * / and square roots are used on doubles, which IEEE 754 defines to
/// the last bit, so that every machine makes the same images.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace robusta::digits {

constexpr int kSize = 28;

struct Image {
  std::array<uint8_t, kSize * kSize> pixels;  ///< row by row, 0 is paper, 255 full ink
  uint8_t label;
};

/// Image number `index` of the set called `set` ("train", "test").
Image make_image(uint64_t seed, std::string_view set, uint64_t index);

}  // namespace robusta::digits
