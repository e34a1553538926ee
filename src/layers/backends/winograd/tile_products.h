/// The matrix products of the transformed domain: for each of the 36 points one small product.
///
/// Sums run over channels (or tiles) in order, whatever the number of threads. Called by each thread for its tiles.
#pragma once

#include <cstdint>

namespace robusta::winograd {

/// Tiles are multiplied six at a time: buffers hold a multiple of that, whatever lies in the last ones.
inline constexpr int64_t kTileRows = 6;

/// Inputs whose products with gradients are summed at a time.
inline constexpr int64_t kInputs = 4;

/// Extents of one product, and the floats from one tile to the next on either side.
struct ProductShape {
  int64_t tiles;
  int64_t inputs, outputs;        ///< a multiple of kInputs; whole vectors
  int64_t input_row, output_row;  ///< at least `inputs` and `outputs`
  int64_t lanes;                  ///< of a vector: 8 or 16
};

/// to[tile][output] = sum over inputs of from[tile][input] * weights[output / lanes][input][output % lanes].
/// REQUIRES: tiles a multiple of kTileRows.
void multiply_tiles(const ProductShape& shape, const float* from, const float* weights, float* to);

/// sums[input][output] += sum over tiles of from[tile][input] * gradients[tile][output].
void add_products(const ProductShape& shape, const float* from, const float* gradients, float* sums);

}  // namespace robusta::winograd
