/// One row of results in the gradient of filters that see few channels: for each tap the products of the pixels under
/// it with the row's gradients, many outputs at a time.
#pragma once

#include <cstdint>

namespace robusta::few_channels {

/// Blocks of outputs that are computed together, where there are as many: a pixel is read once for both.
inline constexpr int kMostBlocks = 2;

struct RowProducts {
  int64_t pixels, stride;  ///< of the row; between the inputs of two neighbours
  const float* inputs;     ///< the rows under the window, padded
  const int64_t* places;   ///< of each tap: where its input for the first pixel lies among them
  int64_t taps;
  const float* gradients;  ///< [pixels][blocks * lanes]
};

/// sums[tap][blocks * lanes] += what the row adds. `lanes`: 8 or 16; `blocks`: 1 or 2.
void add_row_products(const RowProducts& row, int lanes, int blocks, float* sums);

/// A row of gradients of one block of outputs.
struct GradientRow {
  const float* dy;
  const float* y;  ///< what the ReLU gave; null: there is none
  float slope;     ///< of the ReLU
  int64_t pixels;
};

/// to[pixel * to_step + lane] = the gradients before the ReLU; and bias[lane] += their sums.
void gather_gradients(const GradientRow& from, int lanes, int64_t to_step, float* to, double* bias);

}  // namespace robusta::few_channels
