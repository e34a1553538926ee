// Pooling on the GPU over one to three spatial axes, plain or channels last.
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each: nothing is cleared first,
// and no two threads write to one place. MAX keeps the tap of each window that was largest, in one byte where windows
// are small enough.

#include <algorithm>
#include <cfloat>

#include "device/gpu/divisor.h"
#include "layers/gpu_elementwise.h"
#include "layers/pooling/pooling.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

struct PoolSpan {
  int64_t begin, end;
};

struct PoolAxis {
  int64_t in, out, kernel, stride, pad;
  int64_t reach;  ///< a window's taps that can meet the image are less than this
  Divisor by_in, by_out, by_stride;

  explicit PoolAxis(const WindowAxis& axis = {})
      : in(axis.in),
        out(axis.out),
        kernel(axis.kernel),
        stride(axis.stride),
        pad(axis.pad),
        reach(std::min(axis.kernel, axis.in + axis.pad)),
        by_in(axis.in),
        by_out(axis.out),
        by_stride(axis.stride) {}

  /// The place of output o's first tap, padding included.
  ROBUSTA_GPU int64_t first(int64_t o) const { return o * stride - pad; }
  /// The inputs that output o sees.
  ROBUSTA_GPU PoolSpan inputs(int64_t o) const {
    const int64_t begin = first(o), end = begin + kernel;
    return {begin > 0 ? begin : 0, end < in ? end : in};
  }
  /// The outputs that see input i.
  ROBUSTA_GPU PoolSpan outputs(int64_t i) const {
    const int64_t begin = i + pad < kernel ? 0 : by_stride.quotient(i + pad - kernel) + 1;
    const int64_t end = by_stride.quotient(i + pad) + 1;
    return {begin, end < out ? end : out};
  }
  /// What AVE counts of output o's window: up to the padding's end, or the image's.
  ROBUSTA_GPU int64_t length(int64_t o, bool counts_padding) const {
    const int64_t begin = first(o), end = begin + kernel;
    if (counts_padding) return (end < in + pad ? end : in + pad) - begin;
    return (end < in ? end : in) - (begin > 0 ? begin : 0);
  }
};

/// An element's coordinates: stored as [outer, d, h, w, lane].
struct PoolPlace {
  int64_t outer, d, h, w, lane;
};

/// Axes that a tensor lacks are one pixel wide.
struct PoolGeometry {
  PoolAxis d, h, w;
  Divisor by_inner;
  int64_t outer, inner;  ///< inner: elements from one pixel to the next

  PoolGeometry(const PoolingLayer& layer, bool channels_last) {
    WindowAxis axes[3];
    std::copy(layer.axes().begin(), layer.axes().end(), axes + 3 - layer.axes().size());
    d = PoolAxis(axes[0]), h = PoolAxis(axes[1]), w = PoolAxis(axes[2]);
    inner = channels_last ? layer.channels() : 1;
    outer = channels_last ? layer.batch() : layer.batch() * layer.channels();
    by_inner = Divisor(inner);
  }

  int64_t elements_in() const { return outer * d.in * h.in * w.in * inner; }
  int64_t elements_out() const { return outer * d.out * h.out * w.out * inner; }
  /// Different taps that can be the largest of a window.
  int64_t taps() const { return d.reach * h.reach * w.reach; }

  ROBUSTA_GPU PoolPlace place_in(int64_t i) const {
    PoolPlace at;
    at.lane = by_inner.take_off(i);
    at.w = w.by_in.take_off(i);
    at.h = h.by_in.take_off(i);
    at.d = d.by_in.take_off(i);
    at.outer = i;
    return at;
  }
  ROBUSTA_GPU PoolPlace place_out(int64_t i) const {
    PoolPlace at;
    at.lane = by_inner.take_off(i);
    at.w = w.by_out.take_off(i);
    at.h = h.by_out.take_off(i);
    at.d = d.by_out.take_off(i);
    at.outer = i;
    return at;
  }
  /// An input's place in its plane.
  ROBUSTA_GPU int64_t pixel(int64_t i, int64_t j, int64_t k) const { return (i * h.in + j) * w.in + k; }
  ROBUSTA_GPU int64_t input(const PoolPlace& at, int64_t pixel) const {
    return (at.outer * d.in * h.in * w.in + pixel) * inner + at.lane;
  }
  ROBUSTA_GPU int64_t output(const PoolPlace& at, int64_t i, int64_t j, int64_t k) const {
    return (((at.outer * d.out + i) * h.out + j) * w.out + k) * inner + at.lane;
  }
  /// Input (i, j, k) as a tap of output (a, b, c).
  ROBUSTA_GPU int64_t tap(int64_t i, int64_t j, int64_t k, int64_t a, int64_t b, int64_t c) const {
    return ((i - d.first(a)) * h.reach + j - h.first(b)) * w.reach + k - w.first(c);
  }
  ROBUSTA_GPU float area(int64_t a, int64_t b, int64_t c, bool counts_padding) const {
    const int64_t size = d.length(a, counts_padding) * h.length(b, counts_padding) * w.length(c, counts_padding);
    return static_cast<float>(size);
  }
};

/// `taps` and `indices` may be null. -1: no pixel of the window is above -FLT_MAX.
template <typename T, typename Tap>
struct PoolMaxEach {
  PoolGeometry g;
  const T* x;
  T* y;
  float* indices;
  Tap* taps;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const PoolPlace at = g.place_out(o);
    const PoolSpan d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    float best = -FLT_MAX;
    int64_t tap = -1, index = -1;
    for (int64_t i = d.begin; i < d.end; ++i) {
      for (int64_t j = h.begin; j < h.end; ++j) {
        for (int64_t k = w.begin; k < w.end; ++k) {
          const int64_t pixel = g.pixel(i, j, k);
          const float value = static_cast<float>(x[g.input(at, pixel)]);
          if (!(value > best)) continue;
          best = value, index = pixel;
          tap = g.tap(i, j, k, at.d, at.h, at.w);
        }
      }
    }
    y[o] = static_cast<T>(best);
    if (indices) indices[o] = static_cast<float>(index);
    if (taps) taps[o] = static_cast<Tap>(tap);
  }
};

/// A null dy is zero.
template <typename T, typename Tap>
struct PoolMaxGather {
  PoolGeometry g;
  const T* dy;
  const Tap* taps;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const PoolPlace at = g.place_in(i);
    const PoolSpan d = g.d.outputs(at.d), h = g.h.outputs(at.h), w = g.w.outputs(at.w);
    float sum = 0;
    for (int64_t a = d.begin; dy && a < d.end; ++a) {
      for (int64_t b = h.begin; b < h.end; ++b) {
        for (int64_t c = w.begin; c < w.end; ++c) {
          const int64_t o = g.output(at, a, b, c);
          if (taps[o] == static_cast<Tap>(g.tap(at.d, at.h, at.w, a, b, c))) sum += static_cast<float>(dy[o]);
        }
      }
    }
    dx[i] = static_cast<T>(sum);
  }
};

template <typename T>
struct PoolAverageEach {
  PoolGeometry g;
  bool counts_padding;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t o) const {
    const PoolPlace at = g.place_out(o);
    const PoolSpan d = g.d.inputs(at.d), h = g.h.inputs(at.h), w = g.w.inputs(at.w);
    float sum = 0;
    for (int64_t i = d.begin; i < d.end; ++i) {
      for (int64_t j = h.begin; j < h.end; ++j) {
        for (int64_t k = w.begin; k < w.end; ++k) sum += static_cast<float>(x[g.input(at, g.pixel(i, j, k))]);
      }
    }
    y[o] = static_cast<T>(sum / g.area(at.d, at.h, at.w, counts_padding));
  }
};

/// A null dy is zero.
template <typename T>
struct PoolAverageGather {
  PoolGeometry g;
  bool counts_padding;
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const PoolPlace at = g.place_in(i);
    const PoolSpan d = g.d.outputs(at.d), h = g.h.outputs(at.h), w = g.w.outputs(at.w);
    float sum = 0;
    for (int64_t a = d.begin; dy && a < d.end; ++a) {
      for (int64_t b = h.begin; b < h.end; ++b) {
        for (int64_t c = w.begin; c < w.end; ++c) {
          sum += static_cast<float>(dy[g.output(at, a, b, c)]) / g.area(a, b, c, counts_padding);
        }
      }
    }
    dx[i] = static_cast<T>(sum);
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
      : is_max_(layer.is_max()),
        counts_padding_(layer.counts_padding()),
        geometry_(layer, is_channels_last(request.bottoms[0].layout)),
        narrow_(geometry_.taps() <= 255) {
    booking_.bottom_layouts = {is_channels_last(request.bottoms[0].layout) ? request.bottoms[0].layout : nullptr};
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
      booking_.saved_bytes = static_cast<size_t>(geometry_.elements_out()) * (narrow_ ? 1 : sizeof(int64_t));
    }
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    if (!is_max_) {
      return for_each(
          run.stream, geometry_.elements_out(),
          PoolAverageEach<T>{geometry_, counts_padding_, run.bottoms[0].as<T>(), run.tops[0].template as<T>()});
    }
    if (narrow_) return find_largest<uint8_t>(run);
    find_largest<int64_t>(run);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    if (!is_max_) {
      return for_each(run.stream, geometry_.elements_in(), PoolAverageGather<T>{geometry_, counts_padding_, dy, dx});
    }
    if (narrow_) return gather<uint8_t>(run, dy, dx);
    gather<int64_t>(run, dy, dx);
  }

 private:
  template <typename Tap>
  void find_largest(const KernelRun& run) const {
    float* indices = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr;
    Tap* taps = booking_.saved_bytes > 0 ? static_cast<Tap*>(run.saved) : nullptr;
    for_each(run.stream, geometry_.elements_out(),
             PoolMaxEach<T, Tap>{geometry_, run.bottoms[0].as<T>(), run.tops[0].as<T>(), indices, taps});
  }

  template <typename Tap>
  void gather(const KernelRun& run, const T* dy, T* dx) const {
    for_each(run.stream, geometry_.elements_in(),
             PoolMaxGather<T, Tap>{geometry_, dy, static_cast<const Tap*>(run.saved), dx});
  }

  bool is_max_, counts_padding_;
  PoolGeometry geometry_;
  bool narrow_;
};

std::unique_ptr<Kernel> make_pooling_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<PoolingGpu>(request, request.layer<PoolingLayer>());
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Pooling", "gpu", 10, make_pooling_gpu);

}  // namespace robusta
