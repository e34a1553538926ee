// SigmoidCrossEntropyLoss on the GPU: a reduction forward, elementwise backward; loss and divisor stay in device memory
// (backends/gpu/loss.h).

#include <cmath>

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/loss.h"
#include "layers/types/sigmoid_cross_entropy_loss/sigmoid_cross_entropy_loss.h"

namespace robusta {
namespace {

/// Targets are compared as integers: one of 0.9 is ignored by ignore_label 0 (as in Caffe).
struct CrossEntropyTarget {
  const float* targets;
  bool ignores;
  int ignored;
  ROBUSTA_GPU float operator[](int64_t i) const { return targets[i]; }
  ROBUSTA_GPU bool is_ignored(int64_t i) const { return ignores && to_label((*this)[i]) == ignored; }
};

/// The body of reduce_all: the losses of all targets that are not ignored, and how many these are.
template <typename T>
struct CrossEntropySum : JoinLosses {
  CrossEntropyTarget target;
  const T* scores;
  LossEnd end;
  ROBUSTA_GPU Sum term(int64_t i) const {
    if (target.is_ignored(i)) return zero();
    const float x = static_cast<float>(scores[i]);
    // log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
    return {(x > 0 ? x : 0) - x * target[i] + ::log1pf(::expf(-::fabsf(x))), 1, kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const { end.store(sum); }
};

/// dx = scale * (p - t), zero where the target is ignored.
template <typename T>
struct CrossEntropyGradient {
  CrossEntropyTarget target;
  const T* scores;
  const LossResult* result;
  const float* loss_weight;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float p = 1 / (1 + ::expf(-static_cast<float>(scores[i])));
    const float slope = target.is_ignored(i) ? 0 : result->scale(loss_weight) * (p - target[i]);
    dx[i] = static_cast<T>(slope);
  }
};

template <typename T>
class SigmoidCrossEntropyLossGpu : public Kernel {
 public:
  explicit SigmoidCrossEntropyLossGpu(const KernelRequest& request)
      : ignored_(request.layer<SigmoidCrossEntropyLossLayer>().normalizer().ignored()),
        count_(request.bottoms[0].count()),
        division_(request, request.layer<SigmoidCrossEntropyLossLayer>().normalizer(), count_,
                  request.bottoms[0].shape[0]) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.asks_ranks = division_.asks_ranks();
    booking_.saved_bytes = sizeof(LossResult);
    booking_.forward_scratch = reduce_all_scratch<CrossEntropySum<T>>(count_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const LossEnd end = division_.end(run);
    reduce_all(run.stream, count_, run.scratch, CrossEntropySum<T>{{}, target(run), run.bottoms[0].as<T>(), end});
    division_.agree(run, end);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, count_,
             CrossEntropyGradient<T>{.target = target(run),
                                     .scores = run.bottoms[0].as<T>(),
                                     .result = static_cast<const LossResult*>(run.saved),
                                     .loss_weight = run.top_diffs[0].as<float>(),
                                     .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  CrossEntropyTarget target(const KernelRun& run) const {
    return {run.bottoms[1].as<float>(), ignored_.has_value(), ignored_.value_or(0)};
  }

  std::optional<int> ignored_;
  int64_t count_;
  LossDivision division_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("SigmoidCrossEntropyLoss", SigmoidCrossEntropyLossGpu);

}  // namespace robusta
