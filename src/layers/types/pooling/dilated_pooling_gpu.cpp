// Pooling with dilation on the GPU: plain, element by element, over one to three axes. Windows are those of the
// reference kernel (plane_windows.h). Backward gathers over the windows that have a tap at a pixel; MAX keeps the pixel
// that was largest.

#include "layers/types/pooling/dilated_pooling_gpu.h"

#include <algorithm>
#include <cfloat>

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/pooling/plane_windows.h"

namespace robusta {
namespace {

/// A plane's axes: depth, height and width.
struct DilatedPlane {
  WindowAxis d, h, w;
  bool counts_padding;
  Divisor in_w, in_h, in_d, out_w, out_h, out_d;

  explicit DilatedPlane(const PoolingLayer& layer) : counts_padding(layer.counts_padding()) {
    WindowAxis axes[3];
    std::copy(layer.axes().begin(), layer.axes().end(), axes + 3 - layer.axes().size());
    d = axes[0], h = axes[1], w = axes[2];
    in_w = Divisor(w.in), in_h = Divisor(h.in), in_d = Divisor(d.in);
    out_w = Divisor(w.out), out_h = Divisor(h.out), out_d = Divisor(d.out);
  }

  ROBUSTA_GPU int64_t pixels() const { return d.in * h.in * w.in; }
  ROBUSTA_GPU int64_t windows() const { return d.out * h.out * w.out; }

  /// visit(pixel) for each of output (a, b, c)'s that lies in the image. Returns what AVE divides by.
  template <typename Visit>
  ROBUSTA_GPU float for_pixels(int64_t a, int64_t b, int64_t c, const Visit& visit) const {
    const PoolTaps rows = PoolTaps::of(h, b, counts_padding), columns = PoolTaps::of(w, c, counts_padding);
    const PoolTaps slices = PoolTaps::of(d, a, counts_padding);
    for (int64_t i = slices.begin; i < slices.end; i += slices.step) {
      for (int64_t j = rows.begin; j < rows.end; j += rows.step) {
        for (int64_t k = columns.begin; k < columns.end; k += columns.step) visit((i * h.in + j) * w.in + k);
      }
    }
    return static_cast<float>(slices.length * rows.length * columns.length);
  }

  /// visit(window, a, b, c) for each output that has a tap at pixel (i, j, k).
  template <typename Visit>
  ROBUSTA_GPU void for_windows(int64_t i, int64_t j, int64_t k, const Visit& visit) const {
    for (int64_t a = first_output(d, i); a < d.out && a * d.stride - d.pad <= i; ++a) {
      if (!has_tap(d, a, i)) continue;
      for (int64_t b = first_output(h, j); b < h.out && b * h.stride - h.pad <= j; ++b) {
        if (!has_tap(h, b, j)) continue;
        for (int64_t c = first_output(w, k); c < w.out && c * w.stride - w.pad <= k; ++c) {
          if (has_tap(w, c, k)) visit((a * h.out + b) * w.out + c, a, b, c);
        }
      }
    }
  }

 private:
  /// No output before it reaches as far as input i.
  ROBUSTA_GPU static int64_t first_output(const WindowAxis& axis, int64_t i) {
    const int64_t beyond = i + axis.pad - axis.dilation * (axis.kernel - 1);
    return beyond <= 0 ? 0 : (beyond + axis.stride - 1) / axis.stride;
  }
  ROBUSTA_GPU static bool has_tap(const WindowAxis& axis, int64_t o, int64_t i) {
    return (i + axis.pad - o * axis.stride) % axis.dilation == 0;
  }
};

/// `largest` may be null; `indices`, too.
template <typename T>
struct DilatedMax {
  DilatedPlane plane;
  const T* x;
  T* y;
  float* indices;
  int64_t* largest;
  ROBUSTA_GPU void operator()(int64_t o) const {
    int64_t n = o;
    const int64_t c = plane.out_w.take_off(n), b = plane.out_h.take_off(n), a = plane.out_d.take_off(n);
    const T* image = x + n * plane.pixels();
    float best = -FLT_MAX;
    int64_t at = -1;
    plane.for_pixels(a, b, c, [&](int64_t pixel) {
      const auto value = static_cast<float>(image[pixel]);
      if (value > best) best = value, at = pixel;
    });
    y[o] = static_cast<T>(best);
    if (indices) indices[o] = static_cast<float>(at);
    if (largest) largest[o] = at;
  }
};

template <typename T>
struct DilatedAverage {
  DilatedPlane plane;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t o) const {
    int64_t n = o;
    const int64_t c = plane.out_w.take_off(n), b = plane.out_h.take_off(n), a = plane.out_d.take_off(n);
    const T* image = x + n * plane.pixels();
    float sum = 0;
    const float area = plane.for_pixels(a, b, c, [&](int64_t pixel) { sum += static_cast<float>(image[pixel]); });
    y[o] = static_cast<T>(sum / area);
  }
};

/// A null dy is zero; `largest` null: averages.
template <typename T>
struct DilatedGather {
  DilatedPlane plane;
  const T* dy;
  const int64_t* largest;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t index) const {
    int64_t n = index;
    const int64_t k = plane.in_w.take_off(n), j = plane.in_h.take_off(n), i = plane.in_d.take_off(n);
    const int64_t pixel = (i * plane.h.in + j) * plane.w.in + k, first = n * plane.windows();
    float sum = 0;
    if (dy) {
      plane.for_windows(i, j, k, [&](int64_t window, int64_t a, int64_t b, int64_t c) {
        const auto gradient = static_cast<float>(dy[first + window]);
        if (largest) {
          sum += largest[first + window] == pixel ? gradient : 0;
        } else {
          sum += gradient / plane.for_pixels(a, b, c, [](int64_t) {});
        }
      });
    }
    dx[index] = static_cast<T>(sum);
  }
};

template <typename T>
class DilatedPoolingGpu : public Kernel {
 public:
  explicit DilatedPoolingGpu(const KernelRequest& request)
      : is_max_(request.layer<PoolingLayer>().is_max()),
        plane_(request.layer<PoolingLayer>()),
        in_(request.bottoms[0].shape.count()),
        out_(request.tops[0].shape.count()) {
    booking_.bottom_types = {dtype_of<T>()};
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.top_types[0] = dtype_of<T>();
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;  // of the index top
    if (is_max_ && request.backward) booking_.saved_bytes = static_cast<size_t>(out_) * sizeof(int64_t);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    if (!is_max_) return for_each(run.stream, out_, DilatedAverage<T>{plane_, x, y});
    float* indices = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr;
    auto* largest = booking_.saved_bytes > 0 ? static_cast<int64_t*>(run.saved) : nullptr;
    for_each(run.stream, out_, DilatedMax<T>{plane_, x, y, indices, largest});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const auto* largest = is_max_ ? static_cast<const int64_t*>(run.saved) : nullptr;
    for_each(run.stream, in_, DilatedGather<T>{plane_, run.top_diffs[0].as<T>(), largest, run.bottom_diffs[0].as<T>()});
  }

 private:
  bool is_max_;
  DilatedPlane plane_;
  int64_t in_, out_;
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

std::unique_ptr<Kernel> make_dilated_pooling_gpu(const KernelRequest& request) {
  return make_stored<DilatedPoolingGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
