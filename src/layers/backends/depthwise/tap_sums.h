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
/// Channels that are worked on together, the even ones and the odd ones.
inline constexpr int kBlock = 32;

/// Pixels of a run: where the first one and what its taps see begin, and how far apart the next ones are, in elements.
struct Run {
  int64_t pixels, channels;  ///< channels: whole blocks
  int taps;
  const BFloat16* seen[kMostTaps];
  int64_t next_seen, next;
  int64_t row;  ///< from a row of what is seen to the one below
};

/// Sums over pixels, paired up, of results as they are written, and of their squares.
struct PairedSums {
  float *sums, *squares;
};

/// to[pixel, channel] = relu(bias[channel] + the sum over taps of seen * weights[tap][channel]), with weights and
/// biases that are paired up. `slope`: what is not positive is multiplied by; 1: no ReLU. `added`: to what results are
/// added, too; null: to nothing.
void sum_taps(const Run& run, const float* const* weights, const float* bias, float slope, BFloat16* to,
              const PairedSums* added = nullptr);

/// Where channel c is in arrays that are paired up: in each block the even channels, then the odd ones.
constexpr int64_t paired_place(int64_t c) { return c / kBlock * kBlock + c % 2 * (kBlock / 2) + c % kBlock / 2; }
/// Puts channels there, which are `next` floats apart in `from`.
void pair_up(const float* from, int64_t next, int64_t channels, float* to);

/// sums[tap][channel] += the sum over pixels of seen * gradients[pixel, channel]; the sums are paired up.
void add_gradients(const Run& run, const BFloat16* gradients, float* const* sums);

}  // namespace robusta::depthwise
