// The orientation of a photograph: tag 0x0112 of the first directory of an Exif block (CIPA DC-008, 4.6.4), and the
// eight ways to lay an image.

#include <algorithm>
#include <optional>
#include <utility>

#include "data/image_codec.h"

namespace robusta {
namespace {

/// Numbers of a TIFF block in its own byte order; nothing beyond its end.
class TiffReader {
 public:
  TiffReader(std::string_view block, bool big_endian) : block_(block), big_endian_(big_endian) {}

  std::optional<uint32_t> number(size_t at, size_t bytes) const {
    if (at > block_.size() || block_.size() - at < bytes) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t from = big_endian_ ? at + i : at + bytes - 1 - i;
      value = value << 8 | static_cast<unsigned char>(block_[from]);
    }
    return value;
  }

 private:
  std::string_view block_;
  bool big_endian_;
};

int orientation_in(std::string_view block) {
  constexpr uint32_t kOrientation = 0x0112;
  if (!block.starts_with("II") && !block.starts_with("MM")) return 1;
  const TiffReader tiff(block, block.starts_with("MM"));
  const size_t directory = tiff.number(4, 4).value_or(0);
  const uint32_t entries = tiff.number(directory, 2).value_or(0);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    const auto tag = tiff.number(entry, 2);
    if (!tag) break;
    if (*tag != kOrientation) continue;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(std::string_view app1) {
  constexpr std::string_view kStart("Exif\0\0", 6);
  return app1.starts_with(kStart) ? orientation_in(app1.substr(kStart.size())) : 1;
}

void make_upright(int orientation, Image& image) {
  if (orientation == 1) return;
  const bool transpose = swaps_sides(orientation);
  // Exif names the sides that the stored row 0 and column 0 belong to; these are its inverse.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const Extent stored = image.extent;
  image.scratch.swap(image.planes);
  image.reset(transpose ? Extent{stored.channels, stored.width, stored.height} : stored);
  for (int64_t c = 0; c < stored.channels; ++c) {
    const uint8_t* plane = image.scratch.data() + c * stored.height * stored.width;
    for (int64_t y = 0; y < image.extent.height; ++y) {
      uint8_t* row = image.row(c, y);
      for (int64_t x = 0; x < image.extent.width; ++x) {
        int64_t sy = transpose ? x : y, sx = transpose ? y : x;
        if (from_below) sy = stored.height - 1 - sy;
        if (from_right) sx = stored.width - 1 - sx;
        row[x] = plane[sy * stored.width + sx];
      }
    }
  }
}

}  // namespace robusta
