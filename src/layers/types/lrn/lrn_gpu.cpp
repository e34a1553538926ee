// LRN on the GPU, across and within channels, plain or channels last; the common case by packs (gpu_packs.h).
//
// Else, backward computes the brackets again rather than keep them: the window's elements are in the cache. The
// gradient is that of lrn.cpp, in two passes: the first leaves dy s^-beta in place of the result, the second adds the
// window sums.

#include <cassert>
#include <cmath>

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/lrn/gpu_packs.h"
#include "layers/types/lrn/lrn.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// Elements first, first + step, ..., of `count` along an axis.
struct LrnRun {
  int64_t first, step, count;
};

/// The neighbours within `reach` of the element whose coordinate along an axis is `at`; neighbours are `step` apart.
ROBUSTA_GPU inline LrnRun lrn_run(int64_t i, int64_t at, int64_t extent, int64_t step, int64_t reach) {
  const int64_t begin = at < reach ? -at : -reach, end = extent - at <= reach ? extent - at : reach + 1;
  return {i + begin * step, step, end - begin};
}

template <typename Value>
ROBUSTA_GPU float lrn_run_sum(const LrnRun& run, const Value& value) {
  float sum = 0;
  for (int64_t n = 0; n < run.count; ++n) sum += value(run.first + n * run.step);
  return sum;
}

/// Windows along one axis, stored as [..., extent, step].
struct LrnAcross {
  Divisor by_step, by_extent;
  int64_t step, extent, reach;
  template <typename Value>
  ROBUSTA_GPU float sum(int64_t i, const Value& value) const {
    return lrn_run_sum(lrn_run(i, by_extent.remainder(by_step.quotient(i)), extent, step, reach), value);
  }
};

/// Square windows, stored as [..., height, width, step].
struct LrnWithin {
  Divisor by_step, by_width, by_height;
  int64_t step, width, height, reach;
  template <typename Value>
  ROBUSTA_GPU float sum(int64_t i, const Value& value) const {
    int64_t rest = by_step.quotient(i);
    const int64_t w = by_width.take_off(rest), h = by_height.remainder(rest);
    const LrnRun rows = lrn_run(i, h, height, width * step, reach);
    float total = 0;
    for (int64_t n = 0; n < rows.count; ++n) {
      total += lrn_run_sum(lrn_run(rows.first + n * rows.step, w, width, step, reach), value);
    }
    return total;
  }
};

/// What a window sums forward.
template <typename T>
struct LrnSquare {
  const T* x;
  ROBUSTA_GPU float operator()(int64_t i) const { return static_cast<float>(x[i]) * static_cast<float>(x[i]); }
};

/// What a window sums backward.
struct LrnValue {
  const float* x;
  ROBUSTA_GPU float operator()(int64_t i) const { return x[i]; }
};

/// s = k + weight * (sum of squares), and its powers.
template <typename T, typename Window>
struct LrnBracket {
  Window window;
  float k, weight, beta;
  ROBUSTA_GPU float bracket(const T* x, int64_t i) const { return k + weight * window.sum(i, LrnSquare<T>{x}); }
  /// s^-beta
  ROBUSTA_GPU float power(float s) const { return beta == kLrnBeta ? lrn_power(lrn_root(s)) : ::powf(s, -beta); }
};

/// y = x * s^-beta
template <typename T, typename Window>
struct LrnEach {
  LrnBracket<T, Window> lrn;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    y[i] = static_cast<T>(static_cast<float>(x[i]) * lrn.power(lrn.bracket(x, i)));
  }
};

/// dx may be dy.
template <typename T, typename Window>
struct LrnDirect {
  LrnBracket<T, Window> lrn;
  const T *x, *dy;
  T* dx;
  float* ratio;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float s = lrn.bracket(x, i), direct = static_cast<float>(dy[i]) * lrn.power(s);
    dx[i] = static_cast<T>(direct);
    ratio[i] = direct * static_cast<float>(x[i]) / s;
  }
};

/// Second pass of backward: subtracts 2 weight beta x * (window sum of the ratios).
template <typename T, typename Window>
struct LrnAround {
  Window window;
  float pull;  ///< 2 * weight * beta
  const T* x;
  const float* ratio;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float around = window.sum(i, LrnValue{ratio});
    dx[i] = static_cast<T>(static_cast<float>(dx[i]) - pull * static_cast<float>(x[i]) * around);
  }
};

/// Any window, beta and layout, an element per thread.
template <typename T, typename Window>
class LrnGpu : public Kernel {
 public:
  LrnGpu(const KernelRequest& request, const Window& window, float weight) : count_(request.bottoms[0].count()) {
    const auto& layer = request.layer<LrnLayer>();
    lrn_ = {window, layer.k(), weight, layer.beta()};
    const Layout& offered = request.bottoms[0].layout;
    booking_.bottom_layouts = booking_.top_layouts = {is_channels_last(offered) ? offered : nullptr};
    booking_.repeatable = true;
    booking_.backward_aliases = {{0, 0, false}};
    booking_.backward_scratch = static_cast<size_t>(count_) * sizeof(float);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each(run.stream, count_, LrnEach<T, Window>{lrn_, run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    float* ratio = static_cast<float*>(run.scratch);
    for_each(run.stream, count_, LrnDirect<T, Window>{.lrn = lrn_, .x = x, .dy = dy, .dx = dx, .ratio = ratio});
    for_each(run.stream, count_,
             LrnAround<T, Window>{
                 .window = lrn_.window, .pull = 2 * lrn_.weight * lrn_.beta, .x = x, .ratio = ratio, .dx = dx});
  }

 private:
  int64_t count_;
  LrnBracket<T, Window> lrn_;
};

template <typename Window>
std::unique_ptr<Kernel> make_lrn_windows(const KernelRequest& request, const Window& window, float weight) {
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<LrnGpu<decltype(t), Window>>(request, window, weight);
  });
}

/// Every array of a net begins at a multiple of kMemoryAlignment, hence on packs.
template <typename T>
class LrnPacksGpu : public Kernel {
 public:
  explicit LrnPacksGpu(const KernelRequest& request) : packs_(request.bottoms[0].count() / kWidth) {
    const auto& layer = request.layer<LrnLayer>();
    const int64_t packs = request.bottoms[0].shape[1] / kWidth;
    rule_ = {.k = layer.k(),
             .weight = layer.alpha() / static_cast<float>(layer.size()),
             .reach = static_cast<int>(layer.size() / 2),
             .packs = Divisor(packs),
             .last = static_cast<int32_t>(packs - 1)};
    booking_.bottom_layouts = booking_.top_layouts = {request.bottoms[0].layout};
    booking_.repeatable = true;
  }
  std::string describe() const override { return "gpu"; }

  /// What the packs can do: the windows of all common nets.
  static bool takes(const KernelRequest& request) {
    const auto& layer = request.layer<LrnLayer>();
    const TensorDesc& bottom = request.bottoms[0];
    return layer.across_channels() && is_channels_last(bottom.layout) && bottom.shape[1] % kWidth == 0 &&
           bottom.count() / kWidth < int64_t{1} << 31 && layer.size() / 2 <= kWidth / 2 && layer.beta() == kLrnBeta &&
           layer.k() > 0;
  }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    assert(on_packs(x, y));
    for_each(run.stream, packs_, LrnPackEach<T, kWidth>{rule_, x, y});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    assert(on_packs(x, dy, dx));
    for_each(run.stream, packs_, LrnPackGradient<T, kWidth>{rule_, x, dy, dx});
  }

 private:
  static constexpr int kWidth = kPackWidth<T>;
  int64_t packs_;
  LrnPackRule rule_;
};

std::unique_ptr<Kernel> make_lrn_packs_gpu(const KernelRequest& request) {
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using Packs = LrnPacksGpu<decltype(t)>;
    return Packs::takes(request) ? std::make_unique<Packs>(request) : nullptr;
  });
}

std::unique_ptr<Kernel> make_lrn_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (auto kernel = make_lrn_packs_gpu(request)) return kernel;
  const auto& layer = request.layer<LrnLayer>();
  const Shape& shape = request.bottoms[0].shape;
  const bool last = is_channels_last(request.bottoms[0].layout);
  const int64_t size = layer.size(), reach = size / 2;
  if (layer.across_channels()) {
    const int64_t step = last ? 1 : shape.count(2);
    const LrnAcross window{
        .by_step = Divisor(step), .by_extent = Divisor(shape[1]), .step = step, .extent = shape[1], .reach = reach};
    return make_lrn_windows(request, window, layer.alpha() / static_cast<float>(size));
  }
  const int64_t step = last ? shape[1] : 1;
  const LrnWithin window{.by_step = Divisor(step),
                         .by_width = Divisor(shape[3]),
                         .by_height = Divisor(shape[2]),
                         .step = step,
                         .width = shape[3],
                         .height = shape[2],
                         .reach = reach};
  return make_lrn_windows(request, window, layer.alpha() / static_cast<float>(size * size));
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("LRN", "gpu", 10, make_lrn_gpu);

}  // namespace robusta
