/// Backward of pooling whose windows of 3 x 3 pixels overlap, with stride 1 or 2: as GoogLeNet's, AlexNet's and
/// ResNet's. For files named *_gpu.cpp.
///
/// A thread has a strip of two columns and a few rows of the bottom, in one pack of channels. It walks down the rows of
/// windows, loads each window that meets the strip once, all of a row before the first is used, and hands its gradient
/// to the pixels beneath, whose sums are in registers: three rows of them, since no window reaches further. A pixel
/// that gathers by itself loads nine windows with stride 1, and 2.25 in the mean with stride 2; here that is 3 and
/// 0.75. A pixel's sum grows in the order in which it does where pixels gather: the same bits for a maximum; those that
/// gather an average round a product and the sum that it goes into together.
///
/// Rows and columns are counted from the padding's edge: window (a, b) covers rows a kStride ... a kStride + 2.
#pragma once

#include "layers/types/pooling/gpu_loops.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What a window of MAX hands down: all of dy to the pixel whose tap this is.
template <typename T, int N>
struct PoolMaxWindows {
  const T* dy;
  const uint8_t* taps;
  struct Loaded {
    Pack<T, N> gradients;
    Pack<uint8_t, N> largest;
  };
  struct Terms {
    Pack<float, N> gradients;
    Pack<uint8_t, N> largest;
    bool counts;
    ROBUSTA_GPU float of(int n, int tap) const { return counts && largest.at[n] == tap ? gradients.at[n] : 0; }
  };
  ROBUSTA_GPU Loaded load(int64_t o) const { return {stored_pack<N>(dy + o), stored_pack<N>(taps + o)}; }
  ROBUSTA_GPU Terms terms(const PoolGeometry<N>&, const Loaded& loaded, bool counts, PoolIndex<N>, PoolIndex<N>) const {
    return {as_floats(loaded.gradients), loaded.largest, counts};
  }
};

/// What a window of AVE hands down: to each pixel its share.
template <typename T, int N>
struct PoolAverageWindows {
  const T* dy;
  bool counts_padding;
  using Loaded = Pack<T, N>;
  struct Terms {
    Pack<float, N> shares;
    ROBUSTA_GPU float of(int n, int) const { return shares.at[n]; }
  };
  ROBUSTA_GPU Loaded load(int64_t o) const { return stored_pack<N>(dy + o); }
  ROBUSTA_GPU Terms terms(const PoolGeometry<N>& g, const Loaded& loaded, bool counts, PoolIndex<N> a,
                          PoolIndex<N> b) const {
    Terms terms{as_floats(loaded)};
    const float share = g.share(0, a, b, counts_padding);
    for (int n = 0; n < N; ++n) terms.shares.at[n] = counts ? terms.shares.at[n] * share : 0;
    return terms;
  }
};

/// For each of count() strips.
template <typename T, int N, int kStride, typename Windows>
struct PoolStrips {
  using Geometry = PoolGeometry<N>;
  using Index = typename Geometry::Index;
  static constexpr int kSide = 3, kColumns = 2, kRows = 4;
  static constexpr int kAbove = (kSide - 1) / kStride;         ///< windows that begin above a strip, and meet it
  static constexpr int kAcross = kAbove + kColumns / kStride;  ///< windows side by side
  static constexpr int kDown = kAbove + kRows / kStride;

  Geometry g;
  Windows windows;
  T* dx;
  Divisor by_strip, by_block;
  Index strips, blocks;  ///< side by side, and one below the other

  PoolStrips(const Geometry& g, const Windows& windows, T* dx) : g(g), windows(windows), dx(dx) {
    strips = ceil_div(g.w.in + g.w.pad - begin(g.w), kColumns);
    blocks = ceil_div(g.h.in + g.h.pad - begin(g.h), kRows);
    by_strip = Divisor(strips);
    by_block = Divisor(blocks);
  }
  static bool takes(const Geometry& g) {
    const auto fits = [](const PoolAxis<Index>& axis) { return axis.reach == kSide && axis.stride == kStride; };
    return g.d.kernel == 1 && g.d.in == 1 && g.d.out == 1 && fits(g.h) && fits(g.w) && g.h.kernel == kSide &&
           g.w.kernel == kSide;
  }
  int64_t count() const { return int64_t{g.outer} * blocks * strips * g.inner; }

  ROBUSTA_GPU void operator()(int64_t i) const {
    auto image = static_cast<Index>(i);
    PoolPlace<Index> at{};
    at.lane = g.by_inner.take_off(image);
    const Index column = begin(g.w) + by_strip.take_off(image) * kColumns;
    const Index row = begin(g.h) + by_block.take_off(image) * kRows;
    at.outer = image;
    Pack<float, N> sums[kSide][kColumns] = {};  // of the rows below the windows that come next
    Index a = row / kStride - kAbove;
    ROBUSTA_NO_UNROLL for (int step = 0; step < kDown; ++step, ++a) {
      if (a >= 0 && a < g.h.out) hand_down(at, a, column, sums);
      ROBUSTA_UNROLL for (int r = 0; r < kStride; ++r) {
        if (step >= kAbove) store(at, a * kStride + r, column, sums[r]);
      }
      ROBUSTA_UNROLL for (int r = 0; r < kSide; ++r) {
        ROBUSTA_UNROLL for (int c = 0; c < kColumns; ++c) {
          sums[r][c] = r + kStride < kSide ? sums[r + kStride < kSide ? r + kStride : 0][c] : Pack<float, N>{};
        }
      }
    }
  }

 private:
  static Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
  /// Where strips begin: with a window, and as near to the image as can be.
  ROBUSTA_GPU static Index begin(const PoolAxis<Index>& axis) { return axis.pad / kStride * kStride; }

  /// The windows of row `a` that meet the columns.
  ROBUSTA_GPU void hand_down(const PoolPlace<Index>& at, Index a, Index column,
                             Pack<float, N> (&sums)[kSide][kColumns]) const {
    const Index first = column / kStride - kAbove;
    typename Windows::Loaded loaded[kAcross];
    ROBUSTA_UNROLL for (int u = 0; u < kAcross; ++u) loaded[u] = windows.load(g.output(at, 0, a, within(first + u)));
    ROBUSTA_UNROLL for (int u = 0; u < kAcross; ++u) {
      const Index b = first + u;
      const auto terms = windows.terms(g, loaded[u], b == within(b), a, b);
      ROBUSTA_UNROLL for (int c = 0; c < kColumns; ++c) {
        const int across = (kAbove - u) * kStride + c;  // the column's tap in this window
        if (across < 0 || across >= kSide) continue;
        ROBUSTA_UNROLL for (int r = 0; r < kSide; ++r) {
          ROBUSTA_UNROLL for (int n = 0; n < N; ++n) sums[r][c].at[n] += terms.of(n, r * kSide + across);
        }
      }
    }
  }
  /// A window that is there, so that its loads need no branch.
  ROBUSTA_GPU Index within(Index b) const { return b < 0 ? 0 : b < g.w.out ? b : g.w.out - 1; }

  ROBUSTA_GPU void store(const PoolPlace<Index>& at, Index row, Index column,
                         const Pack<float, N> (&sums)[kColumns]) const {
    const Index j = row - g.h.pad;
    if (j < 0 || j >= g.h.in) return;
    ROBUSTA_UNROLL for (int c = 0; c < kColumns; ++c) {
      const Index k = column + c - g.w.pad;
      if (k >= 0 && k < g.w.in) store_pack(sums[c], dx + g.input(at, 0, j, k));
    }
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
