// Sums stay in registers along a row. For two blocks of outputs and six taps (twelve with AVX-512) a pixel takes two
// loads of gradients, a load of an input for each tap, and two multiply-adds for each of these: units for
// multiplication are the ones that are busy.

#include "layers/backends/few_channels/row_products.h"

#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta::few_channels {
namespace {

/// T taps from `places` on.
template <int L, int B, int T>
__attribute__((always_inline)) inline void add_taps(const RowProducts& row, const int64_t* places, float* sums) {
  Floats<L> sum[T][B];
  const float* inputs[T];
  for (int t = 0; t < T; ++t) {
    inputs[t] = row.inputs + places[t];
    for (int b = 0; b < B; ++b) sum[t][b] = floats_at<L>(sums + (t * B + b) * L);
  }
  const float* gradients = row.gradients;
  for (int64_t p = 0, x = 0; p < row.pixels; ++p, x += row.stride, gradients += B * L) {
    Floats<L> dy[B];
    for (int b = 0; b < B; ++b) dy[b] = floats_at<L>(gradients + b * L);
#pragma GCC unroll 24
    for (int t = 0; t < T; ++t) {
      const float input = inputs[t][x];
#pragma GCC unroll 2
      for (int b = 0; b < B; ++b) sum[t][b] += input * dy[b];
    }
  }
  for (int t = 0; t < T; ++t) {
    for (int b = 0; b < B; ++b) floats_at<L>(sums + (t * B + b) * L) = sum[t][b];
  }
}

template <int L, int B>
ROBUSTA_SIMD void add_row(const RowProducts& row, float* sums) {
  constexpr int kTaps = (L == 16 ? 24 : 12) / B;  // as many sums as registers hold beside gradients and an input
  int64_t tap = 0;
  for (; tap + kTaps <= row.taps; tap += kTaps) add_taps<L, B, kTaps>(row, row.places + tap, sums + tap * B * L);
  for (; tap + 3 <= row.taps; tap += 3) add_taps<L, B, 3>(row, row.places + tap, sums + tap * B * L);
  for (; tap < row.taps; ++tap) add_taps<L, B, 1>(row, row.places + tap, sums + tap * B * L);
}

template <int L>
ROBUSTA_SIMD void gather(const GradientRow& from, int64_t to_step, float* to, double* bias) {
  Floats<L> sum = {};
  for (int64_t p = 0; p < from.pixels; ++p) {
    Floats<L> gradient = floats_at<L>(from.dy + p * L);
    if (from.y) gradient = floats_at<L>(from.y + p * L) > 0 ? gradient : from.slope * gradient;
    sum += gradient;
    floats_at<L>(to + p * to_step) = gradient;
  }
  for (int lane = 0; lane < L; ++lane) bias[lane] += static_cast<double>(sum[lane]);
}

}  // namespace

void add_row_products(const RowProducts& row, int lanes, int blocks, float* sums) {
  if (lanes == 16) return blocks == 2 ? add_row<16, 2>(row, sums) : add_row<16, 1>(row, sums);
  blocks == 2 ? add_row<8, 2>(row, sums) : add_row<8, 1>(row, sums);
}

void gather_gradients(const GradientRow& from, int lanes, int64_t to_step, float* to, double* bias) {
  (lanes == 16 ? gather<16> : gather<8>)(from, to_step, to, bias);
}

}  // namespace robusta::few_channels
