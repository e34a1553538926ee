// The transforms of tiles, a block of channels at a time. Windows that lie within the plane are loaded without a test
// per pixel.

#include "layers/backends/winograd/tiles.h"

#include <algorithm>

#include "base/simd.h"

namespace robusta::winograd {
namespace {

/// Where a tile begins; may lie outside of the plane.
struct Corner {
  int64_t sample, y, x;
};

ROBUSTA_INLINE Corner corner_of(const Tiling& tiling, int64_t tile) {
  const int64_t sample = tile / tiling.per_sample(), place = tile % tiling.per_sample();
  return {sample, place / tiling.columns * tiling.step, place % tiling.columns * tiling.step};
}

/// The channels of one pixel.
template <int kLanes, bool kGated>
ROBUSTA_INLINE void load_pixel(const Source& from, int64_t at, Floats<kLanes>& to) {
  to = floats_at<kLanes>(from.pixels + at);
  if constexpr (kGated) to = floats_at<kLanes>(from.gate + at) > 0 ? to : to * from.slope;
}

/// K x K pixels from (y, x) on, of the plane that begins at `plane`.
template <int kLanes, int K, bool kGated>
ROBUSTA_INLINE void load(const Source& from, const Planes& planes, int64_t plane, int64_t y, int64_t x,
                         Floats<kLanes> (&to)[K][K]) {
  const int64_t corner = plane + (y * planes.width + x) * kLanes, row = planes.width * kLanes;
  if (y >= 0 && x >= 0 && y + K <= planes.height && x + K <= planes.width) {
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < K; ++j) load_pixel<kLanes, kGated>(from, corner + i * row + j * kLanes, to[i][j]);
    }
    return;
  }
  for (int64_t i = 0; i < K; ++i) {
    for (int64_t j = 0; j < K; ++j) {
      to[i][j] = Floats<kLanes>{};
      const bool inside = y + i >= 0 && y + i < planes.height && x + j >= 0 && x + j < planes.width;
      if (inside) load_pixel<kLanes, kGated>(from, corner + i * row + j * kLanes, to[i][j]);
    }
  }
}

template <int kLanes>
ROBUSTA_INLINE void scatter(const Floats<kLanes> (&points)[kPoints][kPoints], int64_t stride, float* to) {
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) floats_at<kLanes>(to + (i * kPoints + j) * stride) = points[i][j];
  }
}

template <int kLanes>
ROBUSTA_INLINE void gather(const float* from, int64_t stride, Floats<kLanes> (&points)[kPoints][kPoints]) {
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) points[i][j] = floats_at<kLanes>(from + (i * kPoints + j) * stride);
  }
}

/// The windows of the tiles of one channel block.
template <int kLanes, bool kGated>
ROBUSTA_SIMD void input_block(const Tiling& tiling, const Planes& planes, const TileRange& range, int64_t block,
                              const Source& from, float* to) {
  using Vector = Floats<kLanes>;
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector window[kPoints][kPoints], points[kPoints][kPoints];
    load<kLanes, kPoints, kGated>(from, planes, planes.offset(at.sample, block, 0, 0), at.y - tiling.pad_y,
                                  at.x - tiling.pad_x, window);
    transform_2d<kPoints, kPoints>(
        window, points,
        [](const Vector(&x)[kPoints], Vector(&y)[kPoints]) __attribute__((always_inline)) { input_transform(x, y); });
    scatter<kLanes>(points, range.stride, to + t * range.row + block * kLanes);
  }
}

template <int kLanes, int M, bool kGated>
ROBUSTA_SIMD void gradient_block(const Tiling& tiling, const Planes& planes, const TileRange& range, int64_t block,
                                 const Source& from, float* to, double* sums) {
  using Vector = Floats<kLanes>;
  Vector sum = {};
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector tile[M][M], points[kPoints][kPoints];
    load<kLanes, M, kGated>(from, planes, planes.offset(at.sample, block, 0, 0), at.y, at.x, tile);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < M; ++j) sum += tile[i][j];
    }
    transform_2d<M, kPoints>(
        tile, points,
        [](const Vector(&x)[M], Vector(&y)[kPoints]) __attribute__((always_inline)) { filter_transform<M>(x, y); });
    scatter<kLanes>(points, range.stride, to + t * range.row + block * kLanes);
  }
  for (int lane = 0; lane < kLanes; ++lane) sums[block * kLanes + lane] += sum[lane];
}

template <int kLanes, int M>
ROBUSTA_SIMD void output_block(const Tiling& tiling, const Planes& planes, const TileRange& range, const Finish& finish,
                               int64_t block, const float* from, float* to) {
  using Vector = Floats<kLanes>;
  Vector bias = {};
  if (finish.bias) bias = floats_at<kLanes>(finish.bias + block * kLanes);
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector points[kPoints][kPoints], tile[M][M];
    gather<kLanes>(from + t * range.row + block * kLanes, range.stride, points);
    transform_2d<kPoints, M>(
        points, tile,
        [](const Vector(&x)[kPoints], Vector(&y)[M]) __attribute__((always_inline)) { output_transform<M>(x, y); });
    const int64_t plane = planes.offset(at.sample, block, 0, 0);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < M; ++j) {
        // The last tiles reach over the edge of planes that `step` does not divide.
        if (at.y + i >= planes.height || at.x + j >= planes.width) continue;
        const int64_t pixel = plane + ((at.y + i) * planes.width + at.x + j) * kLanes;
        Vector z = tile[i][j] + bias;
        if (finish.addend) z += floats_at<kLanes>(finish.addend + pixel);
        floats_at<kLanes>(to + pixel) = z > 0 ? z : z * finish.slope;
      }
    }
  }
}

/// All blocks of the planes.
template <int kLanes>
void enter(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from, float* to) {
  const auto block = from.gate ? input_block<kLanes, true> : input_block<kLanes, false>;
  for (int64_t b = 0; b < planes.count; ++b) block(tiling, planes, range, b, from, to);
}

template <int kLanes>
void enter_gradients(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from, float* to,
                     double* sums) {
  const auto wide = from.gate ? gradient_block<kLanes, 4, true> : gradient_block<kLanes, 4, false>;
  const auto narrow = from.gate ? gradient_block<kLanes, 2, true> : gradient_block<kLanes, 2, false>;
  const auto block = tiling.step == 4 ? wide : narrow;
  for (int64_t b = 0; b < planes.count; ++b) block(tiling, planes, range, b, from, to, sums);
}

template <int kLanes>
void leave(const Tiling& tiling, const Planes& planes, const TileRange& range, const Finish& finish, const float* from,
           float* to) {
  const auto block = tiling.step == 4 ? output_block<kLanes, 4> : output_block<kLanes, 2>;
  for (int64_t b = 0; b < planes.count; ++b) block(tiling, planes, range, finish, b, from, to);
}

}  // namespace

void transform_inputs(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from,
                      float* to) {
  (planes.lanes == 16 ? enter<16> : enter<8>)(tiling, planes, range, from, to);
}

void transform_gradients(const Tiling& tiling, const Planes& planes, const TileRange& range, const Source& from,
                         float* to, double* sums) {
  (planes.lanes == 16 ? enter_gradients<16> : enter_gradients<8>)(tiling, planes, range, from, to, sums);
}

void transform_outputs(const Tiling& tiling, const Planes& planes, const TileRange& range, const Finish& finish,
                       const float* from, float* to) {
  (planes.lanes == 16 ? leave<16> : leave<8>)(tiling, planes, range, finish, from, to);
}

}  // namespace robusta::winograd
