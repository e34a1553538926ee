// FocalLoss on the GPU: that of a softmax, whose gradient is multiplied by a factor of each position.

#include "layers/backends/gpu/softmax_loss.h"
#include "layers/backends/gpu/unary.h"
#include "layers/types/focal_loss/focal_loss.h"

namespace robusta {
namespace {

template <typename T>
struct FocalLosses {
  Probabilities<T> probabilities;
  FocalCost<GpuMath> f;
  ROBUSTA_GPU float operator()(int64_t position, int own) const {
    return f.value(probabilities.of_class(position, own));
  }
};

/// What is multiplied by p - target.
template <typename T>
struct FocalFactors {
  Probabilities<T> probabilities;
  FocalCost<GpuMath> f;
  LabelReader label;
  const LossResult* result;
  const float* loss_weight;
  float* factors;
  ROBUSTA_GPU void operator()(int64_t position) const {
    const int own = label(position);
    const bool counts = own >= 0 && loss_weight;
    factors[position] = counts ? result->scale(loss_weight) * f.factor(probabilities.of_class(position, own)) : 0.0f;
  }
};

struct FocalSlope {
  ROBUSTA_GPU float operator()(float p, int64_t c, int own) const { return p - static_cast<float>(c == own); }
};

template <typename T>
class FocalLossGpu : public SoftmaxLossGpu<T> {
 public:
  explicit FocalLossGpu(const KernelRequest& request) : SoftmaxLossGpu<T>(request), f_(request.layers[0]->param()) {
    this->booking_.backward_scratch = 2 * this->gradient_scratch();
  }

  void forward(const KernelRun& run) override {
    this->make_probabilities(run);
    this->sum_losses(run, FocalLosses<T>{this->probabilities(run), f_});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const AxisView& view = this->view();
    const Probabilities<T> p = this->probabilities(run);
    const auto* result = static_cast<const LossResult*>(run.saved);
    const float* dp = run.tops.size() > 1 ? run.top_diffs[1].as<float>() : nullptr;
    auto* dots = static_cast<float*>(run.scratch);
    float* factors = dots + view.positions();
    if (dp) reduce_classes(run.stream, view, ProbabilityDots<T>{{dots}, p, dp});
    for_each(run.stream, view.positions(),
             FocalFactors<T>{.probabilities = p,
                             .f = f_,
                             .label = this->labels(run),
                             .result = result,
                             .loss_weight = run.top_diffs[0].as<float>(),
                             .factors = factors});
    for_each(run.stream, view.positions() * view.classes,
             SoftmaxLossGradient<T, FocalSlope>{.p = p,
                                                .label = this->labels(run),
                                                .slope = {},
                                                .result = result,
                                                .whole = nullptr,
                                                .each = factors,
                                                .dp = dp,
                                                .dots = dots,
                                                .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  FocalCost<GpuMath> f_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("FocalLoss", FocalLossGpu);

}  // namespace robusta
