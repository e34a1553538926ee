// The usual numbers of taps are known to the compiler, which keeps their weights' addresses, or their sums, in
// registers.

#include "layers/backends/depthwise/tap_sums.h"

#include "base/lane_map.h"
#include "base/simd.h"

namespace robusta::depthwise {
namespace {

constexpr int N = 16;  // lanes

/// T: the taps of the run; 0: any number.
template <int T>
ROBUSTA_SIMD void sum_taps_of(const Run& run, const float* const* weights, const float* bias, float slope,
                              BFloat16* to) {
  const int taps = T > 0 ? T : run.taps;
  for (int64_t p = 0; p < run.pixels; ++p, to += run.next) {
    for (int64_t c = 0; c < run.channels; c += N) {
      Floats<N> sum = {};
      if (bias) sum = floats_at<N>(bias + c);
#pragma GCC unroll 9
      for (int t = 0; t < taps; ++t) {
        Floats<N> value;
        load<N>(run.seen[t] + p * run.next_seen + c, value);
        sum += value * floats_at<N>(weights[t] + c);
      }
      store<N>(sum > 0 ? sum : sum * slope, to + c);
    }
  }
}

template <int T>
ROBUSTA_SIMD void add_gradients_of(const Run& run, const BFloat16* gradients, double* const* sums) {
  for (int64_t c = 0; c < run.channels; c += N) {
    Floats<N> sum[T] = {};
    const BFloat16* gradient = gradients + c;
    for (int64_t p = 0; p < run.pixels; ++p, gradient += run.next) {
      Floats<N> dy;
      load<N>(gradient, dy);
#pragma GCC unroll 9
      for (int t = 0; t < T; ++t) {
        Floats<N> value;
        load<N>(run.seen[t] + p * run.next_seen + c, value);
        sum[t] += value * dy;
      }
    }
    for (int t = 0; t < T; ++t) {
      for (int lane = 0; lane < N; ++lane) sums[t][c + lane] += sum[t][lane];
    }
  }
}

/// Taps `first` to `first + T`.
template <int T>
void add_some(const Run& run, int first, const BFloat16* gradients, double* const* sums) {
  Run some = run;
  for (int t = 0; t < T; ++t) some.seen[t] = run.seen[first + t];
  add_gradients_of<T>(some, gradients, sums + first);
}

}  // namespace

void sum_taps(const Run& run, const float* const* weights, const float* bias, float slope, BFloat16* to) {
  const auto sum = run.taps == 9   ? sum_taps_of<9>
                   : run.taps == 6 ? sum_taps_of<6>
                   : run.taps == 4 ? sum_taps_of<4>
                   : run.taps == 2 ? sum_taps_of<2>
                   : run.taps == 1 ? sum_taps_of<1>
                                   : sum_taps_of<0>;
  sum(run, weights, bias, slope, to);
}

void add_gradients(const Run& run, const BFloat16* gradients, double* const* sums) {
  int t = 0;
  for (; t + 9 <= run.taps; t += 9) add_some<9>(run, t, gradients, sums);
  for (; t + 3 <= run.taps; t += 3) add_some<3>(run, t, gradients, sums);
  for (; t < run.taps; ++t) add_some<1>(run, t, gradients, sums);
}

}  // namespace robusta::depthwise
