// What lies in a blob had its mean subtracted and was scaled: its own range is all that is known of its values.

#include "inspect/small_picture.h"

#include <algorithm>
#include <cmath>

#include "data/image.h"

namespace robusta {

bool is_picture(const Shape& shape) {
  constexpr int64_t kLargest = 1 << 14;
  return shape.axes() == 4 && (shape[1] == 1 || shape[1] == 3) && shape[2] > 1 && shape[3] > 1 &&
         shape[2] <= kLargest && shape[3] <= kLargest;
}

std::string small_picture(const std::vector<float>& values, const Shape& shape, int64_t index) {
  constexpr int64_t kSide = 64;
  const int64_t channels = shape[1], height = shape[2], width = shape[3], count = shape.count(1);
  const float* first = values.data() + index * count;
  float low = HUGE_VALF, high = -HUGE_VALF;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(first[i])) continue;
    low = std::min(low, first[i]);
    high = std::max(high, first[i]);
  }
  const float scale = high > low ? 255 / (high - low) : 0;
  const int64_t step = (std::max(height, width) + kSide - 1) / kSide;  // each pixel is the first of step x step
  Image image;
  image.reset({channels, (height + step - 1) / step, (width + step - 1) / step});
  size_t at = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; y += step) {
      for (int64_t x = 0; x < width; x += step) {
        const float value = first[(c * height + y) * width + x];
        image.planes[at++] = std::isfinite(value) ? static_cast<uint8_t>((value - low) * scale) : 0;
      }
    }
  }
  return base64(encode_image(image, ImageFormat::kPng));
}

/// RFC 4648.
std::string base64(const std::string& bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kLetters[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace robusta
