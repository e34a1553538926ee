// SoftmaxWithLoss on the GPU.
//
// The probabilities are not stored, unless as the second top: backward makes them of the scores once more, from the
// largest score and the sum of each position. So a pass reads the scores twice and writes nothing of their size but the
// gradient.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/loss.h"
#include "layers/backends/gpu/softmax.h"
#include "layers/types/softmax_loss/softmax_loss.h"

namespace robusta {
namespace {

/// The loss, over all positions.
template <typename T>
struct SoftmaxLosses : JoinLosses {
  ClassIndex index;
  LabelReader label;
  const T* scores;
  const SoftmaxSum* sums;
  LossEnd end;
  ROBUSTA_GPU Sum term(int64_t position) const {
    const int own = label(position);
    if (own == label.kIgnored) return zero();
    if (own == label.kBad) return {0, 0, position};
    const float p = sums[position].probability(static_cast<float>(scores[index.element(position, own)]));
    // Not fmaxf, which would hide a NaN.
    return {-::logf(p < FLT_MIN ? FLT_MIN : p), 1, kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    label.report(sum.first_bad);
    end.store(sum);
  }
};

/// The sums of p * dp over the classes.
template <typename T>
struct SoftmaxLossDots : ClassSums {
  ClassIndex index;
  const T* scores;
  const float* dp;
  const SoftmaxSum* of_scores;
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const int64_t i = index.element(position, c);
    return of_scores[position].probability(static_cast<float>(scores[i])) * dp[i];
  }
};

/// scale * (p * mass - target), as in softmax_loss_kernel.cpp, and p * (dp - dot) where the probabilities have a
/// gradient.
template <typename T>
struct SoftmaxLossGradient {
  ClassIndex index;
  LabelReader label;
  const T* scores;
  const SoftmaxSum* sums;
  const LossResult* result;
  const float* loss_weight;  ///< null: 0
  float smoothing, other, mass;
  const float* dp;  ///< null: none
  const float* dots;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t position = i;
    const int64_t c = index.take_class(position);
    const float p = sums[position].probability(static_cast<float>(scores[i]));
    const int own = label(position);
    float slope = 0;
    if (loss_weight && own != label.kIgnored) {
      slope = result->scale(loss_weight) * (p * mass - (c == own ? 1 - smoothing : other));
    }
    if (dp) slope += p * (dp[i] - dots[position]);
    dx[i] = static_cast<T>(slope);
  }
};

template <typename T>
class SoftmaxLossGpu : public Kernel {
 public:
  explicit SoftmaxLossGpu(const KernelRequest& request)
      : SoftmaxLossGpu(request, request.layer<SoftmaxLossLayer>(),
                       AxisView(request.bottoms[0].shape, request.layer<SoftmaxLossLayer>().axis())) {}
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const ClassIndex index(view_);
    const T* scores = run.bottoms[0].as<T>();
    reduce_classes(run.stream, view_, SoftmaxSums<T>{index, scores, sums(run)});
    const LossEnd end = division_.end(run);
    reduce_all(run.stream, view_.positions(), run.scratch,
               SoftmaxLosses<T>{{}, index, labels_.reader(run.bottoms[1].as<float>()), scores, sums(run), end});
    division_.agree(run, end);
    if (!two_tops_) return;
    for_each(run.stream, count_, SoftmaxProbability<T, float>{index, scores, sums(run), run.tops[1].as<float>()});
  }

  void check(const Pass& pass) override { labels_.check(pass); }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const ClassIndex index(view_);
    const T* scores = run.bottoms[0].as<T>();
    const float* dp = two_tops_ ? run.top_diffs[1].as<float>() : nullptr;
    auto* dots = static_cast<float*>(run.scratch);
    if (dp) reduce_classes(run.stream, view_, SoftmaxLossDots<T>{{dots}, index, scores, dp, sums(run)});
    // Smoothing spreads over all scores of an item, not only over those of a position: see softmax_loss_kernel.cpp.
    const auto of_item = static_cast<float>(view_.classes * view_.inner);
    const float smoothing = layer_.label_smoothing(), other = smoothing / of_item;
    const float mass = 1 - smoothing + (of_item - 1) * other;
    for_each(run.stream, count_,
             SoftmaxLossGradient<T>{.index = index,
                                    .label = labels_.reader(run.bottoms[1].as<float>()),
                                    .scores = scores,
                                    .sums = sums(run),
                                    .result = static_cast<const LossResult*>(run.saved),
                                    .loss_weight = run.top_diffs[0].as<float>(),
                                    .smoothing = smoothing,
                                    .other = other,
                                    .mass = mass,
                                    .dp = dp,
                                    .dots = dots,
                                    .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  // With the parts that members are initialised from.
  SoftmaxLossGpu(const KernelRequest& request, const SoftmaxLossLayer& layer, const AxisView& view)
      : layer_(layer),
        view_(view),
        count_(request.bottoms[0].count()),
        two_tops_(request.tops.size() == 2),
        labels_(request, view.classes, view.positions_per(request.bottoms[0].shape[0]), layer.normalizer().ignored()),
        division_(request, layer.normalizer(), view.positions(), view.outer) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.asks_ranks = division_.asks_ranks();
    // Nobody need use the probabilities.
    booking_.takes_missing_top_diffs = two_tops_;
    booking_.saved_bytes = sizeof(LossResult) + static_cast<size_t>(view.positions()) * sizeof(SoftmaxSum);
    booking_.forward_scratch = reduce_all_scratch<SoftmaxLosses<T>>(view.positions());
    if (two_tops_) booking_.backward_scratch = static_cast<size_t>(view.positions()) * sizeof(float);
  }

  /// Behind the LossResult.
  static SoftmaxSum* sums(const KernelRun& run) {
    return reinterpret_cast<SoftmaxSum*>(static_cast<LossResult*>(run.saved) + 1);
  }

  const SoftmaxLossLayer& layer_;
  AxisView view_;
  int64_t count_;
  bool two_tops_;
  LabelWatch labels_;
  LossDivision division_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("SoftmaxWithLoss", SoftmaxLossGpu);

}  // namespace robusta
