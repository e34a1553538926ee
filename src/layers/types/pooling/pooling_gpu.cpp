// Pooling on the GPU over one to three spatial axes, plain or channels last; there by packs of channels, if it can be.
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each, or, where windows do not
// meet, over windows, or, where windows of 3 x 3 overlap, over strips of pixels: nothing is cleared first, and no two
// threads write to one place. MAX keeps the tap of each window that was largest, in one byte where windows are small
// enough.

#include <optional>

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/pooling/dilated_pooling_gpu.h"
#include "layers/types/pooling/gpu_average.h"
#include "layers/types/pooling/gpu_max.h"
#include "layers/types/pooling/gpu_strips.h"
#include "layers/types/pooling/stochastic_pooling_gpu.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

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
      if (dy && (backward_in_strips<1>(run.stream, dy, run.saved, dx) ||
                 backward_in_strips<2>(run.stream, dy, run.saved, dx))) {
        return;
      }
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
    if (is_max_ && g.apart()) {
      for_each(stream, g.packs_out(), PoolMaxScatter<T, Tap, N>{g, dy, static_cast<const Tap*>(taps), dx});
    } else if (is_max_) {
      for_each(stream, g.packs_in(), PoolMaxGather<T, Tap, N>{g, dy, static_cast<const Tap*>(taps), dx});
    } else {
      for_each(stream, g.packs_in(), PoolAverageGather<T, N>{g, counts_padding_, dy, dx});
    }
  }

  /// Whether windows are such.
  template <int kStride>
  bool backward_in_strips(Stream* stream, const T* dy, const void* taps, T* dx) const {
    constexpr int N = kPackWidth<T>;
    if (is_max_) {
      const PoolMaxWindows<T, N> windows{dy, static_cast<const uint8_t*>(taps)};
      return run_strips<PoolStrips<T, N, kStride, PoolMaxWindows<T, N>>>(stream, windows, dx);
    }
    return run_strips<PoolStrips<T, N, kStride, PoolAverageWindows<T, N>>>(
        stream, PoolAverageWindows<T, N>{dy, counts_padding_}, dx);
  }
  template <typename Strips, typename Windows>
  bool run_strips(Stream* stream, const Windows& windows, T* dx) const {
    if (!Strips::takes(*packs_)) return false;
    const Strips strips(*packs_, windows, dx);
    for_each(stream, strips.count(), strips);
    return true;
  }

  bool is_max_, counts_padding_;
  PoolGeometry<1> elements_;
  bool narrow_;                 ///< taps fit into a byte
  std::optional<Packs> packs_;  ///< where channels can be taken together
};

std::unique_ptr<Kernel> make_pooling_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<PoolingLayer>().is_stochastic()) return make_stochastic_pooling_gpu(request);
  if (request.layer<PoolingLayer>().is_dilated()) return make_dilated_pooling_gpu(request);
  return make_stored<PoolingGpu>(request, request.layer<PoolingLayer>());
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Pooling", "gpu", 10, make_pooling_gpu);

}  // namespace robusta
