/// Where the windows of a pooling layer lie, for kernels over packs of N neighbouring channels (channels last), or over
/// single elements in any order (N = 1). For files named *_gpu.cpp.
///
/// Everything is counted in packs, hence 32 bits are enough for all but the largest arrays; single elements have 64.
/// Axes that a tensor lacks are one pixel wide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "device/gpu/divisor.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <int N>
using PoolIndex = std::conditional_t<N == 1, int64_t, int32_t>;

template <typename Index>
struct PoolSpan {
  Index begin, end;
};

template <typename Index>
struct PoolAxis {
  Index in, out, kernel, stride, pad, pad_behind;
  Index reach;  ///< a window's taps that can meet the image are less than this
  Divisor by_in, by_out, by_stride;

  explicit PoolAxis(const WindowAxis& axis = {})
      : in(static_cast<Index>(axis.in)),
        out(static_cast<Index>(axis.out)),
        kernel(static_cast<Index>(axis.kernel)),
        stride(static_cast<Index>(axis.stride)),
        pad(static_cast<Index>(axis.pad)),
        pad_behind(static_cast<Index>(axis.pad_behind())),
        reach(static_cast<Index>(std::min(axis.kernel, axis.in + axis.pad))),
        by_in(axis.in),
        by_out(axis.out),
        by_stride(axis.stride) {}

  /// Each input is seen by one output.
  bool apart() const { return kernel == stride && pad == 0 && out * stride >= in; }
  /// The place of output o's first tap, padding included.
  ROBUSTA_GPU Index first(Index o) const { return o * stride - pad; }
  /// The inputs that output o sees.
  ROBUSTA_GPU PoolSpan<Index> inputs(Index o) const {
    const Index begin = first(o), end = begin + kernel;
    return {begin > 0 ? begin : 0, end < in ? end : in};
  }
  /// The outputs that see input i.
  ROBUSTA_GPU PoolSpan<Index> outputs(Index i) const {
    const Index begin = i + pad < kernel ? 0 : by_stride.quotient(i + pad - kernel) + 1;
    const Index end = by_stride.quotient(i + pad) + 1;
    return {begin, end < out ? end : out};
  }
  /// What AVE counts of output o's window: up to the padding's end, or the image's.
  ROBUSTA_GPU int64_t length(Index o, bool counts_padding) const {
    const Index begin = first(o), end = begin + kernel;
    if (counts_padding) return (end < in + pad_behind ? end : in + pad_behind) - begin;
    return (end < in ? end : in) - (begin > 0 ? begin : 0);
  }
};

/// A pack's coordinates: stored as [outer, d, h, w, lane].
template <typename Index>
struct PoolPlace {
  Index outer, d, h, w, lane;
};

template <int N>
struct PoolGeometry {
  using Index = PoolIndex<N>;
  using Place = PoolPlace<Index>;
  PoolAxis<Index> d, h, w;
  Divisor by_inner;
  Index outer, inner;  ///< inner: packs from one pixel to the next

  PoolGeometry(const PoolingLayer& layer, bool channels_last) {
    WindowAxis axes[3];
    std::copy(layer.axes().begin(), layer.axes().end(), axes + 3 - layer.axes().size());
    d = PoolAxis<Index>(axes[0]), h = PoolAxis<Index>(axes[1]), w = PoolAxis<Index>(axes[2]);
    inner = static_cast<Index>(channels_last ? layer.channels() / N : 1);
    outer = static_cast<Index>(channels_last ? layer.batch() : layer.batch() * layer.channels());
    by_inner = Divisor(inner);
  }

  /// Whether packs are whole, and counted in 32 bits.
  static bool packs(const PoolingLayer& layer, bool channels_last) {
    constexpr int64_t kEdge = int64_t{1} << 31;
    const auto small = [](const WindowAxis& a) { return a.out * a.stride + a.kernel + a.padded_in() < kEdge; };
    const int64_t pixels = std::max(elements_in(layer.axes()), elements_out(layer.axes()));
    return channels_last && layer.channels() % N == 0 && layer.batch() * layer.channels() / N * pixels < kEdge &&
           std::all_of(layer.axes().begin(), layer.axes().end(), small);
  }

  /// Each pixel lies in one window.
  bool apart() const { return d.apart() && h.apart() && w.apart(); }
  int64_t packs_in() const { return int64_t{outer} * d.in * h.in * w.in * inner; }
  int64_t packs_out() const { return int64_t{outer} * d.out * h.out * w.out * inner; }

  ROBUSTA_GPU Place place_in(int64_t pack) const { return place(pack, d.by_in, h.by_in, w.by_in); }
  ROBUSTA_GPU Place place_out(int64_t pack) const { return place(pack, d.by_out, h.by_out, w.by_out); }
  /// The first element of the pack at pixel (i, j, k) of the input, or of the output, in `at`'s plane and lane.
  ROBUSTA_GPU int64_t input(const Place& at, Index i, Index j, Index k) const {
    return int64_t{(((at.outer * d.in + i) * h.in + j) * w.in + k) * inner + at.lane} * N;
  }
  ROBUSTA_GPU int64_t output(const Place& at, Index i, Index j, Index k) const {
    return int64_t{(((at.outer * d.out + i) * h.out + j) * w.out + k) * inner + at.lane} * N;
  }
  /// Input (i, j, k) as a tap of output (a, b, c).
  ROBUSTA_GPU Index tap(Index i, Index j, Index k, Index a, Index b, Index c) const {
    return ((i - d.first(a)) * h.reach + j - h.first(b)) * w.reach + k - w.first(c);
  }
  /// The inverse for output `at`: an input's place in its plane; -1 for tap -1.
  ROBUSTA_GPU Index pixel(const Place& at, Index tap) const {
    if (tap < 0) return -1;
    const Index row = tap / w.reach, i = d.first(at.d) + row / h.reach, j = h.first(at.h) + row % h.reach;
    return (i * h.in + j) * w.in + w.first(at.w) + tap % w.reach;
  }
  /// One by what AVE divides output (a, b, c) by.
  ROBUSTA_GPU float share(Index a, Index b, Index c, bool counts_padding) const {
    const int64_t area = d.length(a, counts_padding) * h.length(b, counts_padding) * w.length(c, counts_padding);
    return 1 / static_cast<float>(area);
  }

 private:
  ROBUSTA_GPU Place place(int64_t pack, const Divisor& by_d, const Divisor& by_h, const Divisor& by_w) const {
    auto i = static_cast<Index>(pack);
    Place at;
    at.lane = by_inner.take_off(i);
    at.w = by_w.take_off(i);
    at.h = by_h.take_off(i);
    at.d = by_d.take_off(i);
    at.outer = i;
    return at;
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
