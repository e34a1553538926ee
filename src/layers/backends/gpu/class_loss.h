/// Losses of scores and one label per sample (kit/class_loss.h) on the GPU. For files that nvcc compiles.
#pragma once

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/loss.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/class_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The loss, over all scores: a body of reduce_all.
template <typename T, typename Cost>
struct ClassLossSum : JoinLosses {
  ClassIndex index;
  LabelReader label;
  Cost f;
  const T* scores;
  LossEnd end;
  ROBUSTA_GPU Sum term(int64_t i) const {
    int64_t sample = i;
    const int64_t c = index.take_class(sample);
    const int own = label(sample);
    if (own == label.kBad) return {0, 0, sample};
    return {f.value(static_cast<float>(scores[i]), c == own), 0, kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    label.report(sum.first_bad);
    end.store(sum);
  }
};

template <typename T, typename Cost>
struct ClassLossGradient {
  ClassIndex index;
  LabelReader label;
  Cost f;
  const T* scores;
  const LossResult* result;
  const float* loss_weight;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t sample = i;
    const int64_t c = index.take_class(sample);
    dx[i] = static_cast<T>(result->scale(loss_weight) * f.slope(static_cast<float>(scores[i]), c == label(sample)));
  }
};

/// `Cost`: over GpuMath.
template <typename T, typename Cost>
class ClassLossGpu : public Kernel {
 public:
  explicit ClassLossGpu(const KernelRequest& request)
      : ClassLossGpu(request, ClassLossLayer::view(request.bottoms[0].shape)) {}
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, count_, run.scratch,
               ClassLossSum<T, Cost>{{},
                                     ClassIndex(view_),
                                     labels_.reader(run.bottoms[1].as<float>()),
                                     f_,
                                     run.bottoms[0].as<T>(),
                                     division_.end(run)});
  }

  void check(const Pass& pass) override { labels_.check(pass); }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, count_,
             ClassLossGradient<T, Cost>{.index = ClassIndex(view_),
                                        .label = labels_.reader(run.bottoms[1].as<float>()),
                                        .f = f_,
                                        .scores = run.bottoms[0].as<T>(),
                                        .result = static_cast<const LossResult*>(run.saved),
                                        .loss_weight = run.top_diffs[0].as<float>(),
                                        .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  ClassLossGpu(const KernelRequest& request, const AxisView& view)
      : view_(view),
        count_(request.bottoms[0].count()),
        f_(make_formula<Cost>(request)),
        labels_(request, view.classes, 1, std::nullopt),
        division_(request, request.layer<ClassLossLayer>().normalizer(), view.outer, view.outer) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = sizeof(LossResult);
    booking_.forward_scratch = reduce_all_scratch<ClassLossSum<T, Cost>>(count_);
  }

  AxisView view_;
  int64_t count_;
  Cost f_;
  LabelWatch labels_;
  LossDivision division_;
};

/// A factory for registering.
template <template <typename> class Cost>
std::unique_ptr<Kernel> make_class_loss_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.bottoms[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<ClassLossGpu<decltype(t), Cost<GpuMath>>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
