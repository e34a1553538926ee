// Small matrix products that keep their sums in registers: six tiles, or four channels, by up to four vectors of
// outputs at a time. Panels of that width are chosen at run time from instances for one to four vectors.

#include "layers/backends/winograd/tile_products.h"

#include <algorithm>

#include "base/simd.h"
#include "layers/backends/winograd/tile_math.h"

namespace robusta::winograd {
namespace {

constexpr int kWide = 4;        // vectors of outputs at a time
constexpr int kInputs = 4;      // at a time: kInputs x kWide vectors of sums stay in registers
constexpr int64_t kDepth = 96;  // tiles whose gradients, kWide vectors each, stay in the first-level cache

/// kTileRows tiles by N vectors of outputs: with four, 24 sums and the 4 vectors of weights fill the registers.
template <int N>
ROBUSTA_SIMD void multiply_rows(const ProductShape& shape, const float* from, const float* weights, float* to) {
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

template <int N>
ROBUSTA_SIMD void add_columns(const ProductShape& shape, const float* from, const float* gradients, float* sums) {
  const int64_t outputs = shape.outputs, input_row = shape.input_row, output_row = shape.output_row;
  for (int64_t i = 0; i < shape.inputs; i += kInputs) {
    Vector sum[kInputs][N];
    for (int r = 0; r < kInputs; ++r) {
      for (int n = 0; n < N; ++n) sum[r][n] = floats_at<kLanes>(sums + (i + r) * outputs + n * kLanes);
    }
    for (int64_t t = 0; t < shape.tiles; ++t) {
      Vector gradient[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) gradient[n] = floats_at<kLanes>(gradients + t * output_row + n * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kInputs; ++r) {
        const float value = from[t * input_row + i + r];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) sum[r][n] += value * gradient[n];
      }
    }
    for (int r = 0; r < kInputs; ++r) {
      for (int n = 0; n < N; ++n) floats_at<kLanes>(sums + (i + r) * outputs + n * kLanes) = sum[r][n];
    }
  }
}

using Panel = void (*)(const ProductShape&, const float*, const float*, float*);
constexpr Panel kMultiply[kWide] = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>, multiply_rows<4>};
constexpr Panel kAdd[kWide] = {add_columns<1>, add_columns<2>, add_columns<3>, add_columns<4>};

/// body(first output, vectors) for panels of up to kWide vectors.
template <typename Body>
void for_panels(int64_t outputs, const Body& body) {
  for (int64_t o = 0; o < outputs; o += kWide * kLanes) {
    body(o, static_cast<size_t>(std::min<int64_t>(kWide, (outputs - o) / kLanes)));
  }
}

}  // namespace

void multiply_tiles(const ProductShape& shape, const float* from, const float* weights, float* to) {
  for_panels(shape.outputs, [&](int64_t o, size_t vectors) {
    kMultiply[vectors - 1](shape, from, weights + o * shape.inputs, to + o);
  });
}

void add_products(const ProductShape& shape, const float* from, const float* gradients, float* sums) {
  for_panels(shape.outputs, [&](int64_t o, size_t vectors) {
    for (int64_t t = 0; t < shape.tiles; t += kDepth) {
      ProductShape part = shape;
      part.tiles = std::min(kDepth, shape.tiles - t);
      kAdd[vectors - 1](part, from + t * shape.input_row, gradients + t * shape.output_row + o, sums + o);
    }
  });
}

}  // namespace robusta::winograd
