/// The arithmetic of a depthwise convolution where channels come last, stored as bf16 and computed in float: each
/// channel has filters of its own, so all of a pixel's channels are worked on side by side.
///
/// Runs are pixels whose windows hold the same taps.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace robusta::depthwise {

/// Of a window.
inline constexpr int kMostTaps = 49;

/// Pixels of a run: where the first one and what its taps see begin, and how far apart the next ones are, in elements.
struct Run {
  int64_t pixels, channels;  ///< channels: a multiple of 16
  int taps;
  const BFloat16* seen[kMostTaps];
  int64_t next_seen, next;
};

/// to[pixel, channel] = relu(bias[channel] + the sum over taps of seen * weights[tap][channel]). `slope`: what is not
/// positive is multiplied by; 1: no ReLU. Null for `bias`: zeros.
void sum_taps(const Run& run, const float* const* weights, const float* bias, float slope, BFloat16* to);

/// sums[tap][channel] += the sum over pixels of seen * gradients[pixel, channel], in floats within the run.
void add_gradients(const Run& run, const BFloat16* gradients, double* const* sums);

}  // namespace robusta::depthwise
