/// AVE pooling on the GPU: y = sum over the window of x / area; dx = sum of dy / area over the windows above a pixel.
/// For files named *_gpu.cpp.
#pragma once

#include "layers/types/pooling/gpu_loops.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T, int N>
struct PoolAverageEach {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Geometry g;
  bool counts_padding;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const auto at = g.place_out(o);
    const auto d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    Pack<float, N> sum = {};
    for_places<kPoolAtOnce>(d, h, w, [&](Index i, Index j, Index k) { add(at, i, j, k, w.end, sum); });
    const float share = g.share(at.d, at.h, at.w, counts_padding);
    for (int n = 0; n < N; ++n) sum.at[n] *= share;
    store_pack(sum, y + o * N);
  }

 private:
  ROBUSTA_GPU void add(const PoolPlace<Index>& at, Index i, Index j, Index first, Index end,
                       Pack<float, N>& sum) const {
    const PoolPixels<T, N> pixels(g, x, at, i, j, first, end);
    for (int u = 0; u < kPoolAtOnce; ++u) {
      if (first + u >= end) break;
      for (int n = 0; n < N; ++n) sum.at[n] += pixels.at[u].at[n];
    }
  }
};

/// A null dy is zero.
template <typename T, int N>
struct PoolAverageGather {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Geometry g;
  bool counts_padding;
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const auto at = g.place_in(i);
    const auto d = g.d.outputs(at.d), h = g.h.outputs(at.h), w = g.w.outputs(at.w);
    Pack<float, N> sum = {};
    if (dy) {
      for_places<1>(d, h, w, [&](Index a, Index b, Index c) {
        const Pack<float, N> gradients = load_pack<N>(dy + g.output(at, a, b, c));
        const float share = g.share(a, b, c, counts_padding);
        for (int n = 0; n < N; ++n) sum.at[n] += gradients.at[n] * share;
      });
    }
    store_pack(sum, dx + i * N);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
