/// Losses of predictions and targets (kit/regression_loss.h) on the GPU. For files that nvcc compiles.
///
/// Predictions are taken as they are stored; targets and weights, which 16 bits may not hold, are f32, and so are the
/// losses and the gradient of the targets.
#pragma once

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/regression_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The loss: a body of reduce_all.
template <typename T, typename Distance>
struct RegressionSum {
  using Sum = double;
  Distance f;
  WeightedDifferences<float, T, float> d;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t i) const { return d.value(f, i); }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

/// The second top: a body of reduce_classes, the channels being the classes.
template <typename T, typename Distance>
struct RegressionPositions {
  using Sum = float;
  ClassIndex index;
  Distance f;
  WeightedDifferences<float, T, float> d;
  float* sums;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const { return d.value(f, index.element(position, c)); }
  ROBUSTA_GPU void store(int64_t position, Sum sum) const { sums[position] = sum; }
};

/// dx = factor * (gradient of the loss / divisor + gradient of the position) * slope
template <typename T, typename Distance, typename Gradient>
struct RegressionGradient {
  ClassIndex index;
  Distance f;
  WeightedDifferences<float, T, float> d;
  const float *whole, *each;  ///< the gradients of the tops; null: 0
  float inverse;              ///< of the divisor
  float factor;               ///< 1 for predictions, -1 for targets
  Gradient* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    float scale = whole ? inverse * *whole : 0;
    if (each) {
      int64_t position = i;
      index.take_class(position);
      scale += each[position];
    }
    dx[i] = static_cast<Gradient>(factor * scale * d.slope(f, i));
  }
};

/// `Distance`: over GpuMath.
template <typename T, typename Distance>
class RegressionLossGpu : public Kernel {
 public:
  explicit RegressionLossGpu(const KernelRequest& request)
      : layer_(request.layer<RegressionLossLayer>()),
        view_(layer_.view(request.bottoms[0].shape)),
        count_(request.bottoms[0].count()),
        f_(make_formula<Distance>(request)) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.takes_missing_top_diffs = request.tops.size() > 1;
    booking_.forward_scratch = reduce_all_scratch<RegressionSum<T, Distance>>(count_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const WeightedDifferences<float, T, float> d(run);
    reduce_all(run.stream, count_, run.scratch,
               RegressionSum<T, Distance>{f_, d, layer_.divisor(view_, *run.pass), run.tops[0].as<float>()});
    if (run.tops.size() < 2) return;
    reduce_classes(run.stream, view_,
                   RegressionPositions<T, Distance>{ClassIndex(view_), f_, d, run.tops[1].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) gradient(run, 1, run.bottom_diffs[0].as<T>());
    if (run.bottom_diffs[1]) gradient(run, -1, run.bottom_diffs[1].as<float>());
  }

 private:
  template <typename Gradient>
  void gradient(const KernelRun& run, float factor, Gradient* dx) const {
    for_each(
        run.stream, count_,
        RegressionGradient<T, Distance, Gradient>{.index = ClassIndex(view_),
                                                  .f = f_,
                                                  .d = WeightedDifferences<float, T, float>(run),
                                                  .whole = run.top_diffs[0].as<float>(),
                                                  .each = run.tops.size() > 1 ? run.top_diffs[1].as<float>() : nullptr,
                                                  .inverse = static_cast<float>(1 / layer_.divisor(view_, *run.pass)),
                                                  .factor = factor,
                                                  .dx = dx});
  }

  const RegressionLossLayer& layer_;
  AxisView view_;
  int64_t count_;
  Distance f_;
};

/// A factory for registering.
template <template <typename> class Distance>
std::unique_ptr<Kernel> make_regression_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.bottoms[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RegressionLossGpu<decltype(t), Distance<GpuMath>>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
