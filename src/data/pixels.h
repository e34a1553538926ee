/// One decoded item, as the transformer takes it.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// Size of an item: planes, rows, columns.
struct Extent {
  int64_t channels = 0, height = 0, width = 0;

  int64_t count() const { return channels * height * width; }
  /// "3x256x256"
  std::string str() const {
    return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
  }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Rows and columns of an image.
struct PixelRect {
  int64_t top = 0, left = 0, height = 0, width = 0;

  friend bool operator==(const PixelRect&, const PixelRect&) = default;
};

inline PixelRect all_of(const Extent& image) { return {0, 0, image.height, image.width}; }

/// A view of planar pixels (C x H x W; colours in the order B, G, R when they come from an image file). Exactly one of
/// the pointers is set.
struct Pixels {
  Extent extent;
  const uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  Extent scaled_from = {};  ///< the size of the image of which fewer pixels were decoded; empty: extent

  /// The size of the whole image: what is to become of it follows from this, however many pixels were decoded.
  const Extent& image() const { return scaled_from.count() > 0 ? scaled_from : extent; }
};

/// How an image file becomes channels (force_color, force_gray).
enum class ColorMode { kAsStored, kColor, kGray };

}  // namespace robusta
