// Two channels lie in a word of 32 bits, of which each is a float but for a shift or a mask. So 32 channels are worked
// on as the even and the odd ones, and never have to be sorted. The weights of a block of channels, or its sums, stay
// in registers along a run.

#include "layers/backends/depthwise/tap_sums.h"

#include <cstring>

#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta::depthwise {
namespace {

constexpr int kWords = kBlock / 2;
using Words = VectorOf<kWords, uint32_t>::type;
using Lanes = Floats<kWords>;
constexpr uint32_t kUpper = 0xffff0000u;

__attribute__((always_inline)) inline void load_pairs(const BFloat16* from, Lanes& even, Lanes& odd) {
  Words words;
  std::memcpy(&words, from, sizeof words);
  const Words lower = words << 16, upper = words & kUpper;
  std::memcpy(&even, &lower, sizeof lower);
  std::memcpy(&odd, &upper, sizeof upper);
}

/// As to_bf16 rounds, in the upper halves.
__attribute__((always_inline)) inline void round_upwards(const Lanes& lanes, Words& words) {
  std::memcpy(&words, &lanes, sizeof words);
  const Words rounded = words + 0x7fff + ((words >> 16) & 1), quiet = words | 0x400000;
  words = (words & 0x7fffffff) > 0x7f800000 ? quiet : rounded;
}

/// `even` and `odd` are then as they are stored.
__attribute__((always_inline)) inline void store_pairs(Lanes& even, Lanes& odd, BFloat16* to) {
  Words lower, upper;
  round_upwards(even, lower);
  round_upwards(odd, upper);
  lower &= kUpper;
  upper &= kUpper;
  const Words words = lower >> 16 | upper;
  std::memcpy(to, &words, sizeof words);
  std::memcpy(&even, &lower, sizeof lower);
  std::memcpy(&odd, &upper, sizeof upper);
}

/// PairedSums of a block of channels, in registers.
struct AddedLanes {
  Lanes even = {}, odd = {}, even_squares = {}, odd_squares = {};

  __attribute__((always_inline)) void add(const Lanes& low, const Lanes& high) {
    even += low;
    odd += high;
    even_squares += low * low;
    odd_squares += high * high;
  }
  __attribute__((always_inline)) void add_to(const PairedSums& added, int64_t c) const {
    floats_at<kWords>(added.sums + c) = floats_at<kWords>(added.sums + c) + even;
    floats_at<kWords>(added.sums + c + kWords) = floats_at<kWords>(added.sums + c + kWords) + odd;
    floats_at<kWords>(added.squares + c) = floats_at<kWords>(added.squares + c) + even_squares;
    floats_at<kWords>(added.squares + c + kWords) = floats_at<kWords>(added.squares + c + kWords) + odd_squares;
  }
};

/// Of what the last tap sees, the same channels of the row below: the next row of results is the first to see them.
__attribute__((always_inline)) inline void fetch_below(const Run& run, int64_t at) {
  __builtin_prefetch(run.seen[run.taps - 1] + run.row + at, 0, 2);
}

template <int T, bool kAddsUp>
ROBUSTA_SIMD void sum_taps_of(const Run& run, const float* const* weights, const float* bias, float slope, BFloat16* to,
                              const PairedSums* added) {
  for (int64_t c = 0; c < run.channels; c += kBlock) {
    AddedLanes results;
    Lanes even_weights[T], odd_weights[T];
#pragma GCC unroll 9
    for (int t = 0; t < T; ++t) {
      even_weights[t] = floats_at<kWords>(weights[t] + c);
      odd_weights[t] = floats_at<kWords>(weights[t] + c + kWords);
    }
    for (int64_t p = 0, at = c; p < run.pixels; ++p, at += run.next_seen) {
      fetch_below(run, at);
      Lanes even = floats_at<kWords>(bias + c), odd = floats_at<kWords>(bias + c + kWords);
#pragma GCC unroll 9
      for (int t = 0; t < T; ++t) {
        Lanes low, high;
        load_pairs(run.seen[t] + at, low, high);
        even += low * even_weights[t];
        odd += high * odd_weights[t];
      }
      even = even > 0 ? even : even * slope;
      odd = odd > 0 ? odd : odd * slope;
      store_pairs(even, odd, to + p * run.next + c);
      if constexpr (kAddsUp) results.add(even, odd);
    }
    if constexpr (kAddsUp) results.add_to(*added, c);
  }
}

/// Any number of taps, whose weights are read each time.
template <bool kAddsUp>
ROBUSTA_SIMD void sum_any_taps(const Run& run, const float* const* weights, const float* bias, float slope,
                               BFloat16* to, const PairedSums* added) {
  for (int64_t p = 0; p < run.pixels; ++p, to += run.next) {
    for (int64_t c = 0; c < run.channels; c += kBlock) {
      Lanes even = floats_at<kWords>(bias + c), odd = floats_at<kWords>(bias + c + kWords);
      for (int t = 0; t < run.taps; ++t) {
        Lanes low, high;
        load_pairs(run.seen[t] + p * run.next_seen + c, low, high);
        even += low * floats_at<kWords>(weights[t] + c);
        odd += high * floats_at<kWords>(weights[t] + c + kWords);
      }
      even = even > 0 ? even : even * slope;
      odd = odd > 0 ? odd : odd * slope;
      store_pairs(even, odd, to + c);
      if constexpr (!kAddsUp) continue;
      AddedLanes results;
      results.add(even, odd);
      results.add_to(*added, c);
    }
  }
}

template <int T>
ROBUSTA_SIMD void add_gradients_of(const Run& run, const BFloat16* gradients, float* const* sums) {
  for (int64_t c = 0; c < run.channels; c += kBlock) {
    Lanes even[T] = {}, odd[T] = {};
    for (int64_t p = 0, at = c; p < run.pixels; ++p, at += run.next_seen) {
      fetch_below(run, at);
      Lanes low_gradient, high_gradient;
      load_pairs(gradients + p * run.next + c, low_gradient, high_gradient);
#pragma GCC unroll 9
      for (int t = 0; t < T; ++t) {
        Lanes low, high;
        load_pairs(run.seen[t] + at, low, high);
        even[t] += low * low_gradient;
        odd[t] += high * high_gradient;
      }
    }
#pragma GCC unroll 9
    for (int t = 0; t < T; ++t) {
      float* const sum = sums[t] + c;
      floats_at<kWords>(sum) = floats_at<kWords>(sum) + even[t];
      floats_at<kWords>(sum + kWords) = floats_at<kWords>(sum + kWords) + odd[t];
    }
  }
}

template <bool kAddsUp>
auto sum_for(int taps) {
  return taps == 9   ? sum_taps_of<9, kAddsUp>
         : taps == 6 ? sum_taps_of<6, kAddsUp>
         : taps == 4 ? sum_taps_of<4, kAddsUp>
         : taps == 2 ? sum_taps_of<2, kAddsUp>
         : taps == 1 ? sum_taps_of<1, kAddsUp>
                     : sum_any_taps<kAddsUp>;
}

/// Taps `first` to `first + T`.
template <int T>
void add_some(const Run& run, int first, const BFloat16* gradients, float* const* sums) {
  Run some = run;
  some.taps = T;
  for (int t = 0; t < T; ++t) some.seen[t] = run.seen[first + t];
  add_gradients_of<T>(some, gradients, sums + first);
}

}  // namespace

void sum_taps(const Run& run, const float* const* weights, const float* bias, float slope, BFloat16* to,
              const PairedSums* added) {
  const auto sum = added ? sum_for<true>(run.taps) : sum_for<false>(run.taps);
  sum(run, weights, bias, slope, to, added);
}

void add_gradients(const Run& run, const BFloat16* gradients, float* const* sums) {
  int t = 0;
  for (; t + 9 <= run.taps; t += 9) add_some<9>(run, t, gradients, sums);
  for (; t + 3 <= run.taps; t += 3) add_some<3>(run, t, gradients, sums);
  for (; t < run.taps; ++t) add_some<1>(run, t, gradients, sums);
}

void pair_up(const float* from, int64_t next, int64_t channels, float* to) {
  for (int64_t c = 0; c < channels; ++c) {
    to[paired_place(c)] = from[c * next];
  }
}

}  // namespace robusta::depthwise
