// Small matrix products that keep their sums in registers: six tiles, or four channels, by some vectors of outputs at a
// time: as many as the 32 registers of AVX-512, or the 16 of AVX2, hold. Panels of that width are chosen at run time
// from instances for one vector, two and so on.

#include "layers/backends/winograd/tile_products.h"

#include <algorithm>
#include <iterator>

#include "base/simd.h"
#include "layers/backends/winograd/tile_math.h"

namespace robusta::winograd {
namespace {

/// Vectors of outputs at a time. To multiply: kTileRows sums for each, their weights, and a tile's number. To add:
/// kInputs sums for each, their gradients, and an input's number.
constexpr int most_to_multiply(int lanes) { return lanes == 16 ? 4 : 2; }
constexpr int most_to_add(int lanes) { return lanes == 16 ? 4 : 3; }

/// Tiles whose gradients, so many vectors each, stay in the first-level cache.
constexpr int64_t depth(int lanes) { return 96 * 16 * 4 / (lanes * most_to_add(lanes)); }

/// kTileRows tiles by N vectors of outputs.
template <int kLanes, int N>
ROBUSTA_SIMD void multiply_rows(const ProductShape& shape, const float* from, const float* weights, float* to) {
  using Vector = Floats<kLanes>;
  constexpr int kRows = static_cast<int>(kTileRows);
  const int64_t inputs = shape.inputs, input_row = shape.input_row;
  for (int64_t t = 0; t < shape.tiles; t += kRows) {
    const float* rows = from + t * input_row;
    Vector sum[kRows][N] = {};
    for (int64_t i = 0; i < inputs; ++i) {
      Vector weight[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) weight[n] = floats_at<kLanes>(weights + (n * inputs + i) * kLanes);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const float value = rows[r * input_row + i];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) sum[r][n] += value * weight[n];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < N; ++n) floats_at<kLanes>(to + (t + r) * shape.output_row + n * kLanes) = sum[r][n];
    }
  }
}

template <int kLanes, int N>
ROBUSTA_SIMD void add_columns(const ProductShape& shape, const float* from, const float* gradients, float* sums) {
  using Vector = Floats<kLanes>;
  constexpr int kRows = static_cast<int>(kInputs);
  const int64_t outputs = shape.outputs, input_row = shape.input_row, output_row = shape.output_row;
  for (int64_t i = 0; i < shape.inputs; i += kInputs) {
    Vector sum[kRows][N];
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < N; ++n) sum[r][n] = floats_at<kLanes>(sums + (i + r) * outputs + n * kLanes);
    }
    for (int64_t t = 0; t < shape.tiles; ++t) {
      Vector gradient[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) gradient[n] = floats_at<kLanes>(gradients + t * output_row + n * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const float value = from[t * input_row + i + r];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) sum[r][n] += value * gradient[n];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < N; ++n) floats_at<kLanes>(sums + (i + r) * outputs + n * kLanes) = sum[r][n];
    }
  }
}

using Panel = void (*)(const ProductShape&, const float*, const float*, float*);
constexpr Panel kMultiply16[] = {multiply_rows<16, 1>, multiply_rows<16, 2>, multiply_rows<16, 3>,
                                 multiply_rows<16, 4>};
constexpr Panel kMultiply8[] = {multiply_rows<8, 1>, multiply_rows<8, 2>};
constexpr Panel kAdd16[] = {add_columns<16, 1>, add_columns<16, 2>, add_columns<16, 3>, add_columns<16, 4>};
constexpr Panel kAdd8[] = {add_columns<8, 1>, add_columns<8, 2>, add_columns<8, 3>};
static_assert(std::size(kMultiply16) == most_to_multiply(16) && std::size(kMultiply8) == most_to_multiply(8));
static_assert(std::size(kAdd16) == most_to_add(16) && std::size(kAdd8) == most_to_add(8));

/// body(first output, vectors) for panels of up to `most` vectors.
template <typename Body>
void for_panels(const ProductShape& shape, int most, const Body& body) {
  for (int64_t o = 0; o < shape.outputs; o += most * shape.lanes) {
    body(o, static_cast<size_t>(std::min<int64_t>(most, (shape.outputs - o) / shape.lanes)));
  }
}

}  // namespace

void multiply_tiles(const ProductShape& shape, const float* from, const float* weights, float* to) {
  const Panel* const panels = shape.lanes == 16 ? kMultiply16 : kMultiply8;
  for_panels(shape, most_to_multiply(static_cast<int>(shape.lanes)),
             [&](int64_t o, size_t vectors) { panels[vectors - 1](shape, from, weights + o * shape.inputs, to + o); });
}

void add_products(const ProductShape& shape, const float* from, const float* gradients, float* sums) {
  const int lanes = static_cast<int>(shape.lanes);
  const Panel* const panels = lanes == 16 ? kAdd16 : kAdd8;
  for_panels(shape, most_to_add(lanes), [&](int64_t o, size_t vectors) {
    for (int64_t t = 0; t < shape.tiles; t += depth(lanes)) {
      ProductShape part = shape;
      part.tiles = std::min(depth(lanes), shape.tiles - t);
      panels[vectors - 1](part, from + t * shape.input_row, gradients + t * shape.output_row + o, sums + o);
    }
  });
}

}  // namespace robusta::winograd
