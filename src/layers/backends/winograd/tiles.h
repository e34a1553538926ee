/// How images of channels in blocks of a vector (nChw8c, nChw16c) are cut into tiles, and the tiles' way into and out
/// of the transformed domain.
///
/// A plane is covered by tiles of m x m; windows of six by six around them overlap. Transformed tiles lie as
/// [36 points][tile][channel], each point `stride` floats after the last.
#pragma once

#include <cstdint>

#include "layers/backends/winograd/tile_math.h"

namespace robusta::winograd {

inline constexpr int kProducts = kPoints * kPoints;

/// The planes of some channel blocks of a blocked tensor.
struct Planes {
  int64_t height, width;
  int64_t blocks;        ///< of one sample, all groups together
  int64_t first, count;  ///< those of the group at hand
  int64_t lanes;         ///< channels of a block

  int64_t sample_size() const { return blocks * height * width * lanes; }
  int64_t offset(int64_t sample, int64_t block, int64_t y, int64_t x) const {
    return (((sample * blocks + first + block) * height + y) * width + x) * lanes;
  }
  int64_t channels() const { return count * lanes; }
};

/// Tiles of `step` x `step` over planes of the result; the window of a tile begins `pad` before it.
struct Tiling {
  int64_t rows, columns, step, pad_y, pad_x;

  int64_t per_sample() const { return rows * columns; }
};

/// Consecutive tiles of the batch and where they lie transformed.
struct TileRange {
  int64_t begin, count;  ///< counted over the batch, sample after sample
  int64_t row, stride;   ///< floats from one tile to the next, from one point to the next
};

/// Pixels to read, and what gates them: x where gate > 0, else slope * x. No gate: x.
struct Source {
  const float* pixels;
  const float* gate = nullptr;  ///< stored as the pixels
  float slope = 0;              ///< of the ReLU behind the gate
};

/// to = the input transform of the tiles' windows; zero outside of the plane.
void transform_inputs(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from,
                      float* to);

/// to = the transform of the tiles themselves, as if they were filters: a filter's gradient is the correlation of
/// inputs with them. Zero outside of the plane. Adds the pixels of each channel to `sums`. REQUIRES: step 2 or 4.
void transform_gradients(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from,
                         float* to, double* sums);

/// What happens to a result on its way out: y = max(z, slope * z) with z = x + bias + addend.
struct Finish {
  const float* bias;    ///< one per channel, padding included; null: none
  const float* addend;  ///< stored as the result, or where that will be; null: none
  float slope;          ///< 1: no ReLU
};

/// to = the tiles that are the output transform of `from`. REQUIRES: step 2 or 4.
void transform_outputs(const Tiling& tiling, const Planes& planes, const TileRange& range, const Finish& finish,
                       const float* from, float* to);

}  // namespace robusta::winograd
