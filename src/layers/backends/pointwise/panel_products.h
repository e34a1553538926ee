/// The innermost product of a 1x1 convolution: some pixels by a panel of outputs, all inputs, with sums in registers.
///
/// Each sum runs over the inputs in order, however many pixels are computed together.
#pragma once

#include <cstdint>

namespace robusta::pointwise {

/// Vectors of outputs in a panel; the last one may have a single one.
inline constexpr int kPanelVectors = 2;

/// How many pixels are computed together: for each of them there are kPanelVectors sums in registers, of which AVX2 has
/// 16 and AVX-512 32.
constexpr int64_t most_pixels(int lanes) { return lanes == 16 ? 12 : 6; }
constexpr int64_t least_pixels(int lanes) { return most_pixels(lanes) / 2; }

struct PanelProduct {
  int64_t blocks;        ///< of inputs, `lanes` channels each
  const float* inputs;   ///< [block][pixel][lane]
  const float* weights;  ///< [input][vector][lane]
  const float* bias;     ///< [vector][lane]
  const float* addend;   ///< added before the ReLU, where `to` has its result; null: there is none
  float* to;             ///< [pixel][lane] of the first vector
  int64_t next_vector;   ///< floats from there to the next vector's
  float slope;           ///< of the ReLU; 1: there is none
};

/// `lanes`: 8 or 16; `pixels`: least_pixels to most_pixels; `vectors`: 1 or 2.
void multiply_panel(const PanelProduct& product, int lanes, int64_t pixels, int64_t vectors);

}  // namespace robusta::pointwise
