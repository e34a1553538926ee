/// The innermost product behind the gradient of a 1x1 convolution's filters: some inputs by a panel of outputs, along
/// pixels, with sums in registers.
#pragma once

#include <cstdint>
#include <span>

namespace robusta::pointwise {

/// Vectors of outputs in a panel, at most: a panel's gradients are read once for each group of inputs.
inline constexpr int kMostVectors = 3;

/// Pixels that lie one after another in each block of channels.
struct PixelRun {
  const float* inputs;     ///< of the first one, in the first block of inputs
  const float* gradients;  ///< and in the panel's first block of outputs
  int64_t pixels;
};

/// sums[input][vector][lane] += the sum over pixels of input * gradient, for the channels of one block of inputs, which
/// begins `block` floats after the runs' first one. `next_block`: floats from one block to the next, of either.
/// `lanes`: 8 or 16; `vectors`: 1 to kMostVectors.
void add_pixel_products(std::span<const PixelRun> runs, int64_t block, int64_t next_block, int lanes, int vectors,
                        float* sums);

/// sums[vector][lane] += the sums of an image's gradients, [vector][pixel][lane].
void add_gradients(const float* gradients, int64_t pixels, int lanes, int vectors, double* sums);

}  // namespace robusta::pointwise
