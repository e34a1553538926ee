// Channels are copied vector by vector, of which a pixel's last one may be filled in part.

#include "layers/backends/packed_rows/packed_image.h"

#include <algorithm>

#include "base/simd.h"
#include "base/stored_lanes.h"

namespace robusta::packed_rows {
namespace {

template <int L>
ROBUSTA_SIMD void unpack_blocks(const PackedImage& image, const float* packed, float* to) {
  const int64_t plane = image.height * image.width * L, channels = image.channels.count, whole = channels / L;
  Ints<L> there;
  for (int lane = 0; lane < L; ++lane) there[lane] = lane < channels % L ? -1 : 0;
  for (int64_t y = 0; y < image.height; ++y) {
    const float* from = image.row(packed, y);
    float* pixel = to + y * image.width * L;
    for (int64_t x = 0; x < image.width; ++x, from += channels, pixel += L) {
      for (int64_t b = 0; b < whole; ++b) floats_at<L>(pixel + b * plane) = floats_at<L>(from + b * L);
      if (channels % L == 0) continue;
      const Floats<L> last = floats_at<L>(from + whole * L);
      floats_at<L>(pixel + whole * plane) = there ? last : Floats<L>{};
    }
  }
}

template <int L>
ROBUSTA_SIMD void pack(const Gradients& from, int64_t row, float* to) {
  const Channels channels = from.channels;
  const int64_t next_pixel = channels.last ? channels.count : L;
  const int64_t next_block = channels.last ? L : from.height * from.width * L;
  for (int64_t b = 0; b < channels.blocks(); ++b) {
    const int64_t count = channels.last ? channels.count - b * L : L;
    float* pixel = to + b * L;
    for (int64_t x = 0; x < from.width; ++x) {
      for (int64_t y = 0; y < from.height; ++y, pixel += row) {
        const int64_t at = b * next_block + (y * from.width + x) * next_pixel;
        Floats<L> gradient, result;
        load_some<L>(from.gradients + at, count, gradient);
        if (from.gate) {
          load_some<L>(from.gate + at, count, result);
          gradient = result > 0 ? gradient : from.slope * gradient;
        }
        floats_at<L>(pixel) = gradient;
      }
    }
  }
}

}  // namespace

void unpack_image(const PackedImage& image, const float* packed, float* to) {
  if (!image.channels.last)
    return (image.channels.lanes == 16 ? unpack_blocks<16> : unpack_blocks<8>)(image, packed, to);
  const int64_t row = image.width * image.channels.count;
  for (int64_t y = 0; y < image.height; ++y) std::copy_n(image.row(packed, y), row, to + y * row);
}

void pack_gradients(const Gradients& from, int64_t row, float* to) {
  (from.channels.lanes == 16 ? pack<16> : pack<8>)(from, row, to);
}

}  // namespace robusta::packed_rows
