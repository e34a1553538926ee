/// Losses of the YOLO detectors (kit/anchor_loss.h) on the GPU: a thread makes the errors of a prediction. For files
/// that nvcc compiles. Boxes are f32: 16 bits hold neither all items nor all places.
#pragma once

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/anchor_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// For reduce_all: finds the first number that cannot be.
template <typename Rule>
struct FirstBadBox {
  using Sum = int64_t;
  Rule rule;
  LabelReader boxes;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t row) const {
    const int64_t place = rule.fault(row, boxes.labels);
    return place < 0 ? kNoPlace : place;
  }
  ROBUSTA_GPU void store(Sum first) const { boxes.report(first); }
};

template <typename T, typename Rule>
struct WriteErrors {
  Rule rule;
  const T* x;
  const float* boxes;
  float* errors;
  ROBUSTA_GPU void operator()(int64_t prediction) const { rule.write(prediction, x, boxes, errors); }
};

/// A body of reduce_all.
struct SumOfSquares {
  using Sum = double;
  const float* errors;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return static_cast<double>(errors[i]) * errors[i]; }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

template <typename T, typename Rule>
struct ErrorGradient {
  Rule rule;
  AnchorGrid grid;
  const T* x;
  const float *errors, *loss_weight;
  float share;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float slope = rule.slope(grid.number_of(i), static_cast<float>(x[i]));
    dx[i] = static_cast<T>(*loss_weight * share * errors[i] * slope);
  }
};

/// `Rule`: over GpuMath.
template <typename T, typename Rule>
class AnchorLossGpu : public Kernel {
 public:
  explicit AnchorLossGpu(const KernelRequest& request)
      : layer_(request.layer<AnchorLossLayer>()),
        rule_(layer_),
        count_(request.bottoms[0].count()),
        watch_(request, 1, 1, std::nullopt) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, false};
    booking_.saved_bytes = static_cast<size_t>(count_) * sizeof(float);
    booking_.forward_scratch =
        std::max(reduce_all_scratch<FirstBadBox<Rule>>(layer_.rows()), reduce_all_scratch<SumOfSquares>(count_));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const float* boxes = run.bottoms[1].as<float>();
    auto* errors = static_cast<float*>(run.saved);
    reduce_all(run.stream, layer_.rows(), run.scratch, FirstBadBox<Rule>{rule_, watch_.reader(boxes)});
    for_each(run.stream, layer_.grid().predictions(),
             WriteErrors<T, Rule>{rule_, run.bottoms[0].as<T>(), boxes, errors});
    reduce_all(run.stream, count_, run.scratch,
               SumOfSquares{errors, layer_.loss_divisor(run.pass->ranks), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, count_,
             ErrorGradient<T, Rule>{.rule = rule_,
                                    .grid = layer_.grid(),
                                    .x = run.bottoms[0].as<T>(),
                                    .errors = static_cast<const float*>(run.saved),
                                    .loss_weight = run.top_diffs[0].as<float>(),
                                    .share = static_cast<float>(1 / layer_.gradient_divisor(run.pass->ranks)),
                                    .dx = run.bottom_diffs[0].as<T>()});
  }

  void check(const Pass& pass) override {
    if (const auto bad = watch_.take()) layer_.throw_bad_box(bad->place, bad->label, pass);
  }

 private:
  const AnchorLossLayer& layer_;
  Rule rule_;
  int64_t count_;
  LabelWatch watch_;
};

/// A factory for registering.
template <template <typename> class Rule>
std::unique_ptr<Kernel> make_anchor_loss_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.bottoms[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<AnchorLossGpu<decltype(t), Rule<GpuMath>>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
