// Stochastic pooling on the GPU (stochastic_pooling.h), in any layout: element by element, since each draws its own
// number. Backward gathers over the windows that cover a pixel.

#include "layers/types/pooling/stochastic_pooling_gpu.h"

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/pooling/gpu_geometry.h"
#include "layers/types/pooling/stochastic_pooling.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// Windows over single elements.
struct StochasticWindows {
  PoolGeometry<1> g;
  Divisor by_channels;
  bool channels_last;

  /// visit(element, tap) for each pixel of output `at`'s window, in plain order.
  template <typename Visit>
  ROBUSTA_GPU void for_pixels(const PoolPlace<int64_t>& at, const Visit& visit) const {
    const auto d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    for (int64_t i = d.begin; i < d.end; ++i) {
      for (int64_t j = h.begin; j < h.end; ++j) {
        for (int64_t k = w.begin; k < w.end; ++k) visit(g.input(at, i, j, k), g.tap(i, j, k, at.d, at.h, at.w));
      }
    }
  }
  /// u for output `at`.
  ROBUSTA_GPU float draw(const PoolDraws& draws, const PoolPlace<int64_t>& at) const {
    int64_t sample = at.outer, channel = at.lane;
    if (!channels_last) channel = by_channels.take_off(sample);
    return draws(sample, ((channel * g.d.out + at.d) * g.h.out + at.h) * g.w.out + at.w);
  }
};

/// `taps` may be null.
template <typename T>
struct StochasticDraw {
  StochasticWindows windows;
  PoolDraws draws;
  const T* x;
  T* y;
  int64_t* taps;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const auto at = windows.g.place_out(o);
    float sum = 0, up_to = 0;
    windows.for_pixels(at, [&](int64_t element, int64_t) { sum += static_cast<float>(x[element]); });
    const float wanted = windows.draw(draws, at) * sum;
    bool found = false;
    float value = 0;
    int64_t chosen = -1;
    windows.for_pixels(at, [&](int64_t element, int64_t tap) {
      if (found) return;
      value = static_cast<float>(x[element]);
      chosen = tap;
      up_to += value;
      found = up_to >= wanted;
    });
    y[o] = static_cast<T>(value);
    if (taps) taps[o] = chosen;
  }
};

/// What testing keeps of a window.
struct StochasticSum {
  float sum, mean;
};

/// `sums` may be null.
template <typename T>
struct StochasticMean {
  StochasticWindows windows;
  const T* x;
  T* y;
  StochasticSum* sums;
  ROBUSTA_GPU void operator()(int64_t o) const {
    float sum = 0, squares = 0;
    windows.for_pixels(windows.g.place_out(o), [&](int64_t element, int64_t) {
      const float value = static_cast<float>(x[element]);
      sum += value;
      squares += value * value;
    });
    const float mean = sum > 0 ? squares / sum : 0.0f;
    y[o] = static_cast<T>(mean);
    if (sums) sums[o] = {sum, mean};
  }
};

/// Training, `taps` says where gradients go; testing, x and `sums` do.
template <typename T>
struct StochasticGather {
  StochasticWindows windows;
  const T* dy;
  const int64_t* taps;
  const T* x;
  const StochasticSum* sums;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const PoolGeometry<1>& g = windows.g;
    const auto at = g.place_in(i);
    const auto d = g.d.outputs(at.d), h = g.h.outputs(at.h), w = g.w.outputs(at.w);
    float sum = 0;
    for (int64_t a = d.begin; a < d.end; ++a) {
      for (int64_t b = h.begin; b < h.end; ++b) {
        for (int64_t c = w.begin; c < w.end; ++c) {
          const int64_t o = g.output(at, a, b, c);
          sum += static_cast<float>(dy[o]) * slope(i, o, g.tap(at.d, at.h, at.w, a, b, c));
        }
      }
    }
    dx[i] = static_cast<T>(sum);
  }

 private:
  ROBUSTA_GPU float slope(int64_t i, int64_t o, int64_t tap) const {
    if (taps) return taps[o] == tap ? 1.0f : 0.0f;
    if (!(sums[o].sum > 0)) return 0;
    return (2 * static_cast<float>(x[i]) - sums[o].mean) / sums[o].sum;
  }
};

template <typename T>
class StochasticPoolingGpu : public Kernel {
 public:
  explicit StochasticPoolingGpu(const KernelRequest& request)
      : layer_(request.layer<PoolingLayer>()),
        windows_(windows_of(layer_, is_channels_last(request.bottoms[0].layout))) {
    book_stochastic(request, layer_.training() ? sizeof(int64_t) : sizeof(StochasticSum), booking_);
    const bool last = windows_.channels_last;
    booking_.bottom_layouts = {last ? request.bottoms[0].layout : nullptr};
    booking_.top_layouts = {last ? channels_last(request.tops[0]) : nullptr};
    booking_.bottom_types = booking_.top_types = {dtype_of<T>()};
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    void* kept = booking_.saved_bytes > 0 ? run.saved : nullptr;
    if (layer_.training()) {
      for_each(run.stream, windows_.g.packs_out(),
               StochasticDraw<T>{windows_, PoolDraws(layer_, run), x, y, static_cast<int64_t*>(kept)});
    } else {
      for_each(run.stream, windows_.g.packs_out(),
               StochasticMean<T>{windows_, x, y, static_cast<StochasticSum*>(kept)});
    }
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const bool drawn = layer_.training();
    for_each(run.stream, windows_.g.packs_in(),
             StochasticGather<T>{.windows = windows_,
                                 .dy = run.top_diffs[0].as<T>(),
                                 .taps = drawn ? static_cast<const int64_t*>(run.saved) : nullptr,
                                 .x = run.bottoms[0].as<T>(),
                                 .sums = drawn ? nullptr : static_cast<const StochasticSum*>(run.saved),
                                 .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  static StochasticWindows windows_of(const PoolingLayer& layer, bool last) {
    return {PoolGeometry<1>(layer, last), Divisor(layer.channels()), last};
  }

  const PoolingLayer& layer_;
  StochasticWindows windows_;
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

std::unique_ptr<Kernel> make_stochastic_pooling_gpu(const KernelRequest& request) {
  return make_stored<StochasticPoolingGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
