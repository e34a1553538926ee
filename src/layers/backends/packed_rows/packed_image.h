/// Images and gradients whose channels lie in blocks of a vector (nChw8c, nChw16c) or come last, copied from and to
/// packed ones: [pixels][channels] without gaps.
#pragma once

#include <cstdint>

namespace robusta::packed_rows {

/// How the channels of a tensor lie.
struct Channels {
  int64_t count;
  int lanes;  ///< of a vector: 8 or 16
  bool last;  ///< else in blocks of a vector

  int64_t blocks() const { return (count + lanes - 1) / lanes; }
  int64_t floats_of_pixel() const { return last ? count : blocks() * lanes; }
};

/// An image, and how it lies packed: behind `pad_y` rows, and `pad_x` pixels in each row.
struct PackedImage {
  Channels channels;
  int64_t height, width;
  int64_t pad_y, pad_x, packed_width;

  /// As it lies outside.
  int64_t floats() const { return height * width * channels.floats_of_pixel(); }
  const float* row(const float* packed, int64_t y) const {
    return packed + ((pad_y + y) * packed_width + pad_x) * channels.count;
  }
};

/// to = the image without its borders, with zeros in the lanes of blocks that are no channels. Reads less than a vector
/// beyond the last pixel.
void unpack_image(const PackedImage& image, const float* packed, float* to);

/// The gradient of results, and the ReLU behind them.
struct Gradients {
  const float* gradients;
  const float* gate;  ///< what the ReLU gave; null: there is none
  float slope;
  Channels channels;
  int64_t height, width;
};

/// to[column after column][row] = the gradients before the ReLU. REQUIRES: whole vectors of channels in `row` floats.
void pack_gradients(const Gradients& from, int64_t row, float* to);

}  // namespace robusta::packed_rows
