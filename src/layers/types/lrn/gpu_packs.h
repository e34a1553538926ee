/// LRN across channels, channels last, by packs: a thread takes N channels of a pixel and sees the packs beside them,
/// hence all that their windows hold. For files named *_gpu.cpp.
///
/// The gradient of N channels needs s of those within reach, too, and these need x as far away again: so a reach of
/// N / 2 is the most. In return nothing is stored between two passes.
#pragma once

#include <cmath>

#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What nearly all nets have.
inline constexpr float kLrnBeta = 0.75f;

/// s^-1/2
ROBUSTA_GPU inline float lrn_root(float s) {
#ifdef __CUDA_ARCH__
  return ::rsqrtf(s);
#else
  return 1 / ::sqrtf(s);
#endif
}

/// s^-kLrnBeta, of lrn_root(s)
ROBUSTA_GPU inline float lrn_power(float root) { return root * ::sqrtf(root); }

/// beta is kLrnBeta, and k above 0.
struct LrnPackRule {
  float k, weight;
  int reach;
  Divisor packs;  ///< of a pixel
  int32_t last;   ///< pack of a pixel
};

/// A pack and its neighbours: N channels before, N own, N behind. Zero where the pixel ends.
template <int N>
struct LrnChannels {
  float at[3 * N];
};

/// Reads a pack and its two neighbours in the pixel.
template <int N, typename T>
ROBUSTA_GPU LrnChannels<N> lrn_load(const LrnPackRule& rule, const T* x, int64_t pack) {
  auto pixel = static_cast<int32_t>(pack);
  const int32_t place = rule.packs.take_off(pixel);
  const Pack<float, N> none = {}, own = load_pack<N>(x + pack * N);
  const Pack<float, N> before = place > 0 ? load_pack<N>(x + (pack - 1) * N) : none;
  const Pack<float, N> behind = place < rule.last ? load_pack<N>(x + (pack + 1) * N) : none;
  LrnChannels<N> all;
  for (int n = 0; n < N; ++n) all.at[n] = before.at[n], all.at[N + n] = own.at[n], all.at[2 * N + n] = behind.at[n];
  return all;
}

/// The sums over the windows around channels kBegin ... kEnd - 1. REQUIRES: reach <= N / 2.
template <int kBegin, int kEnd, int N>
ROBUSTA_GPU LrnChannels<N> lrn_sums(const LrnChannels<N>& terms, int reach) {
  LrnChannels<N> sums;
  for (int c = kBegin; c < kEnd; ++c) sums.at[c] = terms.at[c];
  for (int off = 1; off <= N / 2; ++off) {
    if (off > reach) continue;
    for (int c = kBegin; c < kEnd; ++c) sums.at[c] += terms.at[c - off] + terms.at[c + off];
  }
  return sums;
}

template <int N>
ROBUSTA_GPU LrnChannels<N> lrn_squares(const LrnChannels<N>& x) {
  LrnChannels<N> squares;
  for (int c = 0; c < 3 * N; ++c) squares.at[c] = x.at[c] * x.at[c];
  return squares;
}

/// y = x * s^-beta for N channels of a pixel.
template <typename T, int N>
struct LrnPackEach {
  LrnPackRule rule;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const LrnChannels<N> values = lrn_load<N>(rule, x, pack);
    const LrnChannels<N> sums = lrn_sums<N, 2 * N>(lrn_squares(values), rule.reach);
    Pack<float, N> result;
    for (int n = 0; n < N; ++n) {
      const float root = lrn_root(rule.k + rule.weight * sums.at[N + n]);
      result.at[n] = values.at[N + n] * lrn_power(root);
    }
    store_pack(result, y + pack * N);
  }
};

/// dx is not dy.
template <typename T, int N>
struct LrnPackGradient {
  LrnPackRule rule;
  const T *x, *dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    constexpr int kBegin = N / 2, kEnd = 3 * N - N / 2;
    const LrnChannels<N> values = lrn_load<N>(rule, x, pack);
    LrnChannels<N> direct = lrn_load<N>(rule, dy, pack);
    const LrnChannels<N> sums = lrn_sums<kBegin, kEnd>(lrn_squares(values), rule.reach);
    LrnChannels<N> ratio;
    for (int c = kBegin; c < kEnd; ++c) {
      const int off = c < N ? N - c : c - (2 * N - 1);
      ratio.at[c] = 0;
      if (off > rule.reach) continue;
      const float root = lrn_root(rule.k + rule.weight * sums.at[c]);
      direct.at[c] *= lrn_power(root);
      ratio.at[c] = direct.at[c] * values.at[c] * (root * root);
    }
    const LrnChannels<N> around = lrn_sums<N, 2 * N>(ratio, rule.reach);
    Pack<float, N> result;
    for (int n = 0; n < N; ++n) {
      const int c = N + n;
      result.at[n] = direct.at[c] - 2 * kLrnBeta * rule.weight * values.at[c] * around.at[c];
    }
    store_pack(result, dx + pack * N);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
