// Labels are copied, never mixed.

#include "data/label_map.h"

#include <algorithm>
#include <cassert>

#include "robusta/error.h"

namespace robusta {
namespace {

/// The common value of three planes.
void take_grey(const Image& colors, Image& map) {
  map.reset({1, colors.extent.height, colors.extent.width});
  const int64_t pixels = map.extent.count();
  const uint8_t* planes = colors.planes.data();
  const bool grey =
      std::equal(planes, planes + pixels, planes + pixels) && std::equal(planes, planes + pixels, planes + 2 * pixels);
  if (!grey) {
    throw Error(ErrorKind::kData, "the map of labels holds colours",
                "write it as a grey image whose pixels are the labels; a palette has to be taken out");
  }
  std::copy_n(planes, pixels, map.planes.data());
}

}  // namespace

void decode_label_map(std::string_view file, Image& map) {
  if (image_extent(file, ColorMode::kAsStored).channels == 1) return decode_image(file, ColorMode::kGray, map);
  thread_local Image colors;
  decode_image(file, ColorMode::kColor, colors);
  take_grey(colors, map);
}

void resize_nearest(const Pixels& from, int64_t height, int64_t width, Image& to) {
  assert(height > 0 && width > 0 && from.bytes);
  to.reset({from.extent.channels, height, width});
  for (int64_t c = 0; c < from.extent.channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* in = from.bytes + (c * from.extent.height + y * from.extent.height / height) * from.extent.width;
      uint8_t* out = to.row(c, y);
      for (int64_t x = 0; x < width; ++x) out[x] = in[x * from.extent.width / width];
    }
  }
}

}  // namespace robusta
