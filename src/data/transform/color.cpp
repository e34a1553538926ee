// Fixed-point sums as OpenCV has them: 12 bits for hue and saturation, 14 bits for weighted sums of colours.

#include "data/transform/color.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace robusta {
namespace {

constexpr int kSumBits = 14;  // of the fraction

/// x / 2^bits, rounded.
constexpr int rounded_shift(int x, int bits) { return (x + (1 << (bits - 1))) >> bits; }

uint8_t clamped(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

/// 0.114 B + 0.587 G + 0.299 R (ITU-R BT.601), each times 2^14.
int gray(int b, int g, int r) { return rounded_shift(1868 * b + 9617 * g + 4899 * r, kSumBits); }

/// body(first, second, third) of each pixel, which may be changed.
template <typename Body>
void each_pixel(Image& image, const Body& body) {
  assert(image.extent.channels == 3);
  const int64_t plane = image.extent.height * image.extent.width;
  uint8_t* p = image.planes.data();
  for (int64_t i = 0; i < plane; ++i) body(p[i], p[plane + i], p[2 * plane + i]);
}

/// round(scale * 2^12 / i) for a difference or value of i; 0 for 0.
std::array<int, 256> divisions(double scale) {
  std::array<int, 256> table{};
  for (int i = 1; i < 256; ++i) table[static_cast<size_t>(i)] = static_cast<int>(std::lrint(scale * 4096 / i));
  return table;
}

}  // namespace

/// Hue goes from 0 to 179, half of its degrees, 30 for each sixth of the circle; saturation and value from 0 to 255.
void to_hsv(Image& image) {
  static const std::array<int, 256> by_value = divisions(255), by_difference = divisions(30);
  each_pixel(image, [](uint8_t& first, uint8_t& second, uint8_t& third) {
    const int b = first, g = second, r = third;
    const int value = std::max({b, g, r}), difference = value - std::min({b, g, r});
    const int sixth = value == r ? g - b : value == g ? b - r + 2 * difference : r - g + 4 * difference;
    const int hue = rounded_shift(sixth * by_difference[static_cast<size_t>(difference)], 12);
    first = clamped(hue < 0 ? hue + 180 : hue);
    second = clamped(rounded_shift(difference * by_value[static_cast<size_t>(value)], 12));
    third = static_cast<uint8_t>(value);
  });
}

void from_hsv(Image& image) {
  each_pixel(image, [](uint8_t& first, uint8_t& second, uint8_t& third) {
    const float saturation = static_cast<float>(second) / 255, value = static_cast<float>(third) / 255;
    const float hue = static_cast<float>(first % 180) / 30;
    const int sector = static_cast<int>(hue);
    const float part = hue - static_cast<float>(sector);
    const float low = value * (1 - saturation), falling = value * (1 - saturation * part),
                rising = value * (1 - saturation * (1 - part));
    const float colors[6][3] = {{low, rising, value},  {low, value, falling}, {rising, value, low},
                                {value, falling, low}, {value, low, rising},  {falling, low, value}};
    first = to_byte(colors[sector][0] * 255);
    second = to_byte(colors[sector][1] * 255);
    third = to_byte(colors[sector][2] * 255);
  });
}

/// Cr = 0.713 (R - Y) + 128 and Cb = 0.564 (B - Y) + 128.
void to_ycrcb(Image& image) {
  each_pixel(image, [](uint8_t& first, uint8_t& second, uint8_t& third) {
    const int b = first, r = third, y = gray(b, second, r);
    first = clamped(y);
    second = clamped(rounded_shift((r - y) * 11682, kSumBits) + 128);
    third = clamped(rounded_shift((b - y) * 9241, kSumBits) + 128);
  });
}

/// R = Y + 1.403 Cr, G = Y - 0.714 Cr - 0.344 Cb and B = Y + 1.773 Cb, of Cr and Cb without their 128.
void from_ycrcb(Image& image) {
  each_pixel(image, [](uint8_t& first, uint8_t& second, uint8_t& third) {
    const int y = first, cr = second - 128, cb = third - 128;
    first = clamped(y + rounded_shift(cb * 29049, kSumBits));
    second = clamped(y + rounded_shift(cb * -5636 + cr * -11698, kSumBits));
    third = clamped(y + rounded_shift(cr * 22987, kSumBits));
  });
}

void take_colors_away(Image& image) {
  each_pixel(image, [](uint8_t& b, uint8_t& g, uint8_t& r) { b = g = r = clamped(gray(b, g, r)); });
}

}  // namespace robusta
