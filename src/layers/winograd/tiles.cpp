#include "layers/winograd/tiles.h"

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

/// K x K pixels from (y, x) on.
template <int K>
ROBUSTA_INLINE void load(const float* plane, int64_t height, int64_t width, int64_t y, int64_t x, Vector (&to)[K][K]) {
  if (y >= 0 && x >= 0 && y + K <= height && x + K <= width) {
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < K; ++j) to[i][j] = floats_at<kLanes>(plane + ((y + i) * width + x + j) * kLanes);
    }
    return;
  }
  for (int64_t i = 0; i < K; ++i) {
    for (int64_t j = 0; j < K; ++j) {
      const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
      to[i][j] = inside ? floats_at<kLanes>(plane + ((y + i) * width + x + j) * kLanes) : Vector{};
    }
  }
}

ROBUSTA_INLINE void scatter(const Vector (&points)[kPoints][kPoints], int64_t stride, float* to) {
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) floats_at<kLanes>(to + (i * kPoints + j) * stride) = points[i][j];
  }
}

ROBUSTA_INLINE void gather(const float* from, int64_t stride, Vector (&points)[kPoints][kPoints]) {
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) points[i][j] = floats_at<kLanes>(from + (i * kPoints + j) * stride);
  }
}

/// The windows of `count` tiles of one channel block.
ROBUSTA_SIMD void spread_block(const Tiling& tiling, const Planes& planes, const TileRange& range, int64_t block,
                               const float* from, float* to) {
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector window[kPoints][kPoints], points[kPoints][kPoints];
    load<kPoints>(from + planes.offset(at.sample, block, 0, 0), planes.height, planes.width, at.y - tiling.pad_y,
                  at.x - tiling.pad_x, window);
    both_ways<kPoints, kPoints>(
        window, points, [](const auto& x, auto& y) __attribute__((always_inline)) { spread(x, y); });
    scatter(points, range.stride, to + t * range.row + block * kLanes);
  }
}

template <int M>
ROBUSTA_SIMD void evaluate_block(const Tiling& tiling, const Planes& planes, const TileRange& range, int64_t block,
                                 const float* from, float* to, double* sums) {
  Vector sum = {};
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector tile[M][M], points[kPoints][kPoints];
    load<M>(from + planes.offset(at.sample, block, 0, 0), planes.height, planes.width, at.y, at.x, tile);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < M; ++j) sum += tile[i][j];
    }
    both_ways<M, kPoints>(
        tile, points, [](const auto& x, auto& y) __attribute__((always_inline)) { evaluate<M>(x, y); });
    scatter(points, range.stride, to + t * range.row + block * kLanes);
  }
  for (int lane = 0; lane < kLanes; ++lane) sums[block * kLanes + lane] += sum[lane];
}

template <int M>
ROBUSTA_SIMD void combine_block(const Tiling& tiling, const Planes& planes, const TileRange& range,
                                const Finish& finish, int64_t block, const float* from, float* to) {
  Vector bias = {};
  if (finish.bias) bias = floats_at<kLanes>(finish.bias + block * kLanes);
  for (int64_t t = 0; t < range.count; ++t) {
    const Corner at = corner_of(tiling, range.begin + t);
    Vector points[kPoints][kPoints], tile[M][M];
    gather(from + t * range.row + block * kLanes, range.stride, points);
    both_ways<kPoints, M>(
        points, tile, [](const auto& x, auto& y) __attribute__((always_inline)) { combine<M>(x, y); });
    float* plane = to + planes.offset(at.sample, block, 0, 0);
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < M; ++j) {
        if (at.y + i >= planes.height || at.x + j >= planes.width) continue;
        const Vector z = tile[i][j] + bias;
        floats_at<kLanes>(plane + ((at.y + i) * planes.width + at.x + j) * kLanes) = z > 0 ? z : z * finish.slope;
      }
    }
  }
}

}  // namespace

void spread_windows(const Tiling& tiling, const Planes& planes, const TileRange& range, const float* from, float* to) {
  for (int64_t b = 0; b < planes.count; ++b) spread_block(tiling, planes, range, b, from, to);
}

void evaluate_tiles(const Tiling& tiling, const Planes& planes, const TileRange& range, const float* from, float* to,
                    double* sums) {
  const auto block = tiling.step == 4 ? evaluate_block<4> : evaluate_block<2>;
  for (int64_t b = 0; b < planes.count; ++b) block(tiling, planes, range, b, from, to, sums);
}

void combine_tiles(const Tiling& tiling, const Planes& planes, const TileRange& range, const Finish& finish,
                   const float* from, float* to) {
  const auto block = tiling.step == 4 ? combine_block<4> : combine_block<2>;
  for (int64_t b = 0; b < planes.count; ++b) block(tiling, planes, range, finish, b, from, to);
}

}  // namespace robusta::winograd
