/// MAX pooling on the GPU: y = max over the window of x; dx = sum of dy over the windows whose largest pixel this is,
/// gathered by each pixel, or scattered by each window where no two meet. For files named *_gpu.cpp.
///
/// A tap is a pixel's number within its window. Forward keeps that of the largest pixel, the first of equal ones as in
/// Caffe, and backward compares it with the number that its pixel has in each window over it.
#pragma once

#include <cfloat>

#include "layers/types/pooling/gpu_loops.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// `taps` may be null, and `indices` is, but for N = 1. -1: no pixel of the window is above -FLT_MAX.
template <typename T, typename Tap, int N>
struct PoolMaxEach {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Geometry g;
  const T* x;
  T* y;
  float* indices;
  Tap* taps;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const auto at = g.place_out(o);
    const auto d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    Best best;
    for (int n = 0; n < N; ++n) best.value.at[n] = -FLT_MAX, best.tap[n] = -1;
    for_places<kPoolAtOnce>(d, h, w, [&](Index i, Index j, Index k) { see(at, i, j, k, w.end, best); });
    store_pack(best.value, y + o * N);
    if (taps) store_taps(best, o);
    if constexpr (N == 1) {
      if (indices) indices[o] = static_cast<float>(g.pixel(at, best.tap[0]));
    }
  }

 private:
  struct Best {
    Pack<float, N> value;
    Index tap[N];
  };
  ROBUSTA_GPU void see(const PoolPlace<Index>& at, Index i, Index j, Index first, Index end, Best& best) const {
    const PoolPixels<T, N> pixels(g, x, at, i, j, first, end);
    Index tap = g.tap(i, j, first, at.d, at.h, at.w);
    for (int u = 0; u < kPoolAtOnce; ++u, ++tap) {  // the last pixel, seen again, is not above itself
      for (int n = 0; n < N; ++n) {
        const float value = pixels.at[u].at[n];
        if (value > best.value.at[n]) best.value.at[n] = value, best.tap[n] = tap;
      }
    }
  }
  ROBUSTA_GPU void store_taps(const Best& best, int64_t o) const {
    Pack<Tap, N> stored;
    for (int n = 0; n < N; ++n) stored.at[n] = static_cast<Tap>(best.tap[n]);
    *reinterpret_cast<Pack<Tap, N>*>(taps + o * N) = stored;
  }
};

/// A null dy is zero.
template <typename T, typename Tap, int N>
struct PoolMaxGather {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Geometry g;
  const T* dy;
  const Tap* taps;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const auto at = g.place_in(i);
    const auto d = g.d.outputs(at.d), h = g.h.outputs(at.h), w = g.w.outputs(at.w);
    Pack<float, N> sum = {};
    if (dy) {
      for_places<kOutputsAtOnce>(d, h, w, [&](Index a, Index b, Index c) { add(at, a, b, c, w.end, sum); });
    }
    store_pack(sum, dx + i * N);
  }

 private:
  static constexpr int kOutputsAtOnce = 2;
  ROBUSTA_GPU void add(const PoolPlace<Index>& at, Index a, Index b, Index first, Index end,
                       Pack<float, N>& sum) const {
    Pack<Tap, N> largest[kOutputsAtOnce];
    Pack<float, N> gradients[kOutputsAtOnce];
    for (int u = 0; u < kOutputsAtOnce; ++u) {
      const int64_t o = g.output(at, a, b, pool_within<Index>(first + u, end));
      largest[u] = *reinterpret_cast<const Pack<Tap, N>*>(taps + o);
      gradients[u] = load_pack<N>(dy + o);
    }
    for (int u = 0; u < kOutputsAtOnce; ++u) {
      if (first + u >= end) break;
      const auto own = static_cast<Tap>(g.tap(at.d, at.h, at.w, a, b, first + u));
      for (int n = 0; n < N; ++n) sum.at[n] += largest[u].at[n] == own ? gradients[u].at[n] : 0;
    }
  }
};

/// The same where each pixel lies in one window: that window's thread writes it, and dy and taps are read once. A null
/// dy is zero.
template <typename T, typename Tap, int N>
struct PoolMaxScatter {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Geometry g;
  const T* dy;
  const Tap* taps;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const auto at = g.place_out(o);
    const auto d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    const Pack<Tap, N> largest = stored_pack<N>(taps + o * N);
    Pack<float, N> gradients = {};
    if (dy) gradients = load_pack<N>(dy + o * N);
    for_places<1>(d, h, w, [&](Index i, Index j, Index k) {
      const auto own = static_cast<Tap>(g.tap(i, j, k, at.d, at.h, at.w));
      Pack<float, N> values;
      for (int n = 0; n < N; ++n) values.at[n] = largest.at[n] == own ? gradients.at[n] : 0;
      store_pack(values, dx + g.input(at, i, j, k));
    });
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
