// Pooling on the GPU over one to three spatial axes, plain or channels last; there by packs of channels, if it can be.
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each: nothing is cleared first,
// and no two threads write to one place. MAX keeps the tap of each window that was largest, in one byte where windows
// are small enough.

#include <cfloat>
#include <optional>

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/pooling/gpu_geometry.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// So many pixels of a row are loaded before the first is used. What lies behind a row's end is loaded from its last
/// pixel.
constexpr int kPoolAtOnce = 3;

/// The pixel of a row that is loaded for `k`.
template <typename Index>
ROBUSTA_GPU Index pool_within(Index k, Index end) {
  return k < end ? k : end - 1;
}

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
    for (Index i = d.begin; i < d.end; ++i) {
      for (Index j = h.begin; j < h.end; ++j) {
        ROBUSTA_NO_UNROLL for (Index k = w.begin; k < w.end; k += kPoolAtOnce) see(at, i, j, k, w.end, best);
      }
    }
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
    Pack<float, N> values[kPoolAtOnce];
    for (int u = 0; u < kPoolAtOnce; ++u) {
      values[u] = load_pack<N>(x + g.input(at, i, j, pool_within<Index>(first + u, end)));
    }
    Index tap = g.tap(i, j, first, at.d, at.h, at.w);
    for (int u = 0; u < kPoolAtOnce; ++u, ++tap) {  // the last pixel, seen again, is not above itself
      for (int n = 0; n < N; ++n) {
        if (values[u].at[n] > best.value.at[n]) best.value.at[n] = values[u].at[n], best.tap[n] = tap;
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
    for (Index a = d.begin; dy && a < d.end; ++a) {
      for (Index b = h.begin; b < h.end; ++b) {
        ROBUSTA_NO_UNROLL for (Index c = w.begin; c < w.end; c += kOutputsAtOnce) add(at, a, b, c, w.end, sum);
      }
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
    for (Index i = d.begin; i < d.end; ++i) {
      for (Index j = h.begin; j < h.end; ++j) {
        ROBUSTA_NO_UNROLL for (Index k = w.begin; k < w.end; k += kPoolAtOnce) add(at, i, j, k, w.end, sum);
      }
    }
    const float share = g.share(at.d, at.h, at.w, counts_padding);
    for (int n = 0; n < N; ++n) sum.at[n] *= share;
    store_pack(sum, y + o * N);
  }

 private:
  ROBUSTA_GPU void add(const PoolPlace<Index>& at, Index i, Index j, Index first, Index end,
                       Pack<float, N>& sum) const {
    Pack<float, N> values[kPoolAtOnce];
    for (int u = 0; u < kPoolAtOnce; ++u) {
      values[u] = load_pack<N>(x + g.input(at, i, j, pool_within<Index>(first + u, end)));
    }
    for (int u = 0; u < kPoolAtOnce; ++u) {
      if (first + u >= end) break;
      for (int n = 0; n < N; ++n) sum.at[n] += values[u].at[n];
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
    for (Index a = d.begin; dy && a < d.end; ++a) {
      for (Index b = h.begin; b < h.end; ++b) {
        ROBUSTA_NO_UNROLL for (Index c = w.begin; c < w.end; ++c) {
          const Pack<float, N> gradients = load_pack<N>(dy + g.output(at, a, b, c));
          const float share = g.share(a, b, c, counts_padding);
          for (int n = 0; n < N; ++n) sum.at[n] += gradients.at[n] * share;
        }
      }
    }
    store_pack(sum, dx + i * N);
  }
};

/// The layout of a top whose bottom lies in `bottom`. (Where both orders are one, both are plain.)
Layout pool_top_layout(const TensorDesc& top, const Layout& bottom) {
  return is_channels_last(bottom) ? channels_last(top) : nullptr;
}

template <typename T>
class PoolingGpu : public Kernel {
 public:
  PoolingGpu(const KernelRequest& request, const PoolingLayer& layer)
      : PoolingGpu(request, layer, is_channels_last(request.bottoms[0].layout)) {}
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    float* indices = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr;
    void* taps = booking_.saved_bytes > 0 ? run.saved : nullptr;
    if (packs_ && !indices && on_packs(x, y) && on_packs(taps)) {
      forward_of<uint8_t>(run.stream, *packs_, x, y, indices, taps);
    } else if (narrow_) {
      forward_of<uint8_t>(run.stream, elements_, x, y, indices, taps);
    } else {
      forward_of<int64_t>(run.stream, elements_, x, y, indices, taps);
    }
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    if (packs_ && on_packs(dy, dx) && on_packs(run.saved)) {
      backward_of<uint8_t>(run.stream, *packs_, dy, run.saved, dx);
    } else if (narrow_) {
      backward_of<uint8_t>(run.stream, elements_, dy, run.saved, dx);
    } else {
      backward_of<int64_t>(run.stream, elements_, dy, run.saved, dx);
    }
  }

 private:
  using Packs = PoolGeometry<kPackWidth<T>>;

  PoolingGpu(const KernelRequest& request, const PoolingLayer& layer, bool last)
      : is_max_(layer.is_max()), counts_padding_(layer.counts_padding()), elements_(layer, last) {
    const int64_t taps = elements_.d.reach * elements_.h.reach * elements_.w.reach;
    narrow_ = !is_max_ || taps <= 255;
    if (narrow_ && Packs::packs(layer, last)) packs_.emplace(layer, last);
    booking_.bottom_layouts = {last ? request.bottoms[0].layout : nullptr};
    for (const TensorDesc& top : request.tops) {
      booking_.top_layouts.push_back(pool_top_layout(top, booking_.bottom_layouts[0]));
    }
    booking_.bottom_types = {dtype_of<T>()};
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.top_types[0] = dtype_of<T>();
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;  // of the index top
    if (is_max_ && request.backward) {
      booking_.saved_bytes = static_cast<size_t>(elements_.packs_out()) * (narrow_ ? 1 : sizeof(int64_t));
    }
  }

  template <typename Tap, int N>
  void forward_of(Stream* stream, const PoolGeometry<N>& g, const T* x, T* y, float* indices, void* taps) const {
    if (is_max_) {
      for_each(stream, g.packs_out(), PoolMaxEach<T, Tap, N>{g, x, y, indices, static_cast<Tap*>(taps)});
    } else {
      for_each(stream, g.packs_out(), PoolAverageEach<T, N>{g, counts_padding_, x, y});
    }
  }

  template <typename Tap, int N>
  void backward_of(Stream* stream, const PoolGeometry<N>& g, const T* dy, const void* taps, T* dx) const {
    if (is_max_) {
      for_each(stream, g.packs_in(), PoolMaxGather<T, Tap, N>{g, dy, static_cast<const Tap*>(taps), dx});
    } else {
      for_each(stream, g.packs_in(), PoolAverageGather<T, N>{g, counts_padding_, dy, dx});
    }
  }

  bool is_max_, counts_padding_;
  PoolGeometry<1> elements_;
  bool narrow_;                 ///< taps fit into a byte
  std::optional<Packs> packs_;  ///< where channels can be taken together
};

std::unique_ptr<Kernel> make_pooling_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<PoolingGpu>(request, request.layer<PoolingLayer>());
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Pooling", "gpu", 10, make_pooling_gpu);

}  // namespace robusta
