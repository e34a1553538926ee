/// Loops over the pixels of windows, for the pooling kernels of a GPU. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/pack.h"
#include "layers/types/pooling/gpu_geometry.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Calls body(i, j, k) for the places of three axes in the order of memory, for every kStep-th of the last one.
template <int kStep, typename Index, typename Body>
ROBUSTA_GPU void for_places(PoolSpan<Index> d, PoolSpan<Index> h, PoolSpan<Index> w, const Body& body) {
  for (Index i = d.begin; i < d.end; ++i) {
    for (Index j = h.begin; j < h.end; ++j) {
      ROBUSTA_NO_UNROLL for (Index k = w.begin; k < w.end; k += kStep) body(i, j, k);
    }
  }
}

/// So many pixels of a row are loaded before the first is used: a load takes hundreds of cycles, and those that are
/// under way together take hardly longer than one. What lies behind a row's end is loaded from its last pixel, since a
/// branch would put the loads one behind the other again.
inline constexpr int kPoolAtOnce = 3;

/// The pixel of a row that is loaded for `k`.
template <typename Index>
ROBUSTA_GPU Index pool_within(Index k, Index end) {
  return k < end ? k : end - 1;
}

/// The inputs (i, j, first), (i, j, first + 1) ... of a row that ends at `end`.
template <typename T, int N>
struct PoolPixels {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  Pack<float, N> at[kPoolAtOnce];
  ROBUSTA_GPU PoolPixels(const Geometry& g, const T* x, const PoolPlace<Index>& place, Index i, Index j, Index first,
                         Index end) {
    for (int u = 0; u < kPoolAtOnce; ++u) {
      at[u] = load_pack<N>(x + g.input(place, i, j, pool_within<Index>(first + u, end)));
    }
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
