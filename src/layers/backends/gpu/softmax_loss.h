/// Losses over a softmax (kit/softmax_loss.h) on the GPU, without the formula of the loss. For files named *_gpu.cpp.
///
/// The probabilities are not stored, unless as the second top: backward makes them of the scores once more, from the
/// largest score and the sum of each position. So a pass reads the scores twice and writes nothing of their size but
/// the gradient.
#pragma once

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/loss.h"
#include "layers/backends/gpu/softmax.h"
#include "layers/kit/softmax_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The probabilities of one run.
template <typename T>
struct Probabilities {
  ClassIndex index;
  const T* scores;
  const SoftmaxSum* sums;
  ROBUSTA_GPU float operator()(int64_t position, int64_t element) const {
    return sums[position].probability(static_cast<float>(scores[element]));
  }
  ROBUSTA_GPU float of_class(int64_t position, int64_t c) const {
    return (*this)(position, index.element(position, c));
  }
};

/// The sums of p * dp over the classes, for the gradient of the second top.
template <typename T>
struct ProbabilityDots : ClassSums {
  Probabilities<T> p;
  const float* dp;
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const int64_t i = p.index.element(position, c);
    return p(position, i) * dp[i];
  }
};

/// The sum of the losses that `Losses` gives for each position and its label.
template <typename Losses>
struct PositionSum : JoinLosses {
  LabelReader label;
  Losses losses;
  LossEnd end;
  ROBUSTA_GPU Sum term(int64_t position) const {
    const int own = label(position);
    if (own == label.kIgnored) return zero();
    if (own == label.kBad) return {0, 0, position};
    return {losses(position, own), 1, kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    label.report(sum.first_bad);
    end.store(sum);
  }
};

/// Losses that are there already.
struct StoredLosses {
  const float* losses;
  ROBUSTA_GPU float operator()(int64_t position, int) const { return losses[position]; }
};

/// dx = scale * slope + p (dp - dot): `Slope` gives the slope of the loss of a position by the score of a class.
template <typename T, typename Slope>
struct SoftmaxLossGradient {
  Probabilities<T> p;
  LabelReader label;
  Slope slope;
  const LossResult* result;
  const float *whole, *each;  ///< the gradients of the loss, and of those of the positions; null: 0
  const float *dp, *dots;     ///< dp null: none
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t position = i;
    const int64_t c = p.index.take_class(position);
    const float probability = p(position, i);
    const int own = label(position);
    float gradient = 0;
    if (own >= 0) {
      float scale = whole ? result->scale(whole) : 0;
      if (each) scale += each[position];
      gradient = scale * slope(probability, c, own);
    }
    if (dp) gradient += probability * (dp[i] - dots[position]);
    dx[i] = static_cast<T>(gradient);
  }
};

/// A base of kernels, of scores stored as T.
template <typename T>
class SoftmaxLossGpu : public Kernel {
 public:
  explicit SoftmaxLossGpu(const KernelRequest& request)
      : SoftmaxLossGpu(request, request.layer<SoftmaxLossLayer>(),
                       request.layer<SoftmaxLossLayer>().view(request.bottoms[0].shape)) {}
  std::string describe() const override { return "gpu"; }
  void check(const Pass& pass) override { labels_.check(pass); }

 protected:
  const AxisView& view() const { return view_; }
  LabelReader labels(const KernelRun& run) const { return labels_.reader(run.bottoms[1].as<float>()); }
  Probabilities<T> probabilities(const KernelRun& run) const {
    return {ClassIndex(view_), run.bottoms[0].as<T>(), sums(run)};
  }

  /// Bytes at the start of forward's scratch that sum_losses() takes, whatever it sums.
  size_t sum_scratch() const { return reduce_all_scratch<PositionSum<StoredLosses>>(view_.positions()); }
  /// Bytes at the start of backward's scratch that gradient() takes, with a second top.
  size_t gradient_scratch() const { return static_cast<size_t>(view_.positions()) * sizeof(float); }

  /// Forward begins with it: what probabilities() are made of, and the second top.
  void make_probabilities(const KernelRun& run) const {
    const Probabilities<T> p = probabilities(run);
    reduce_classes(run.stream, view_, SoftmaxSums<T>{p.index, p.scores, sums(run)});
    if (run.tops.size() == 1) return;
    for_each(run.stream, count_, SoftmaxProbability<T, float>{p.index, p.scores, p.sums, run.tops[1].as<float>()});
  }

  /// Forward ends with it. `Losses`: as PositionSum has them.
  template <typename Losses>
  void sum_losses(const KernelRun& run, const Losses& losses) const {
    const LossEnd end = division_.end(run);
    reduce_all(run.stream, view_.positions(), run.scratch, PositionSum<Losses>{{}, labels(run), losses, end});
    division_.agree(run, end);
  }

  /// All of backward. `Slope`: as SoftmaxLossGradient has it.
  template <typename Slope>
  void gradient(const KernelRun& run, const Slope& slope) const {
    const Probabilities<T> p = probabilities(run);
    const float* dp = run.tops.size() > 1 ? run.top_diffs[1].as<float>() : nullptr;
    auto* dots = static_cast<float*>(run.scratch);
    if (dp) reduce_classes(run.stream, view_, ProbabilityDots<T>{{dots}, p, dp});
    for_each(run.stream, count_,
             SoftmaxLossGradient<T, Slope>{.p = p,
                                           .label = labels(run),
                                           .slope = slope,
                                           .result = static_cast<const LossResult*>(run.saved),
                                           .whole = run.top_diffs[0].as<float>(),
                                           .each = run.tops.size() > 2 ? run.top_diffs[2].as<float>() : nullptr,
                                           .dp = dp,
                                           .dots = dots,
                                           .dx = run.bottom_diffs[0].as<T>()});
  }

 private:
  // With the parts that members are initialised from.
  SoftmaxLossGpu(const KernelRequest& request, const SoftmaxLossLayer& layer, const AxisView& view)
      : view_(view),
        count_(request.bottoms[0].count()),
        labels_(request, view.classes, view.positions_per(request.bottoms[0].shape[0]), layer.normalizer().ignored()),
        division_(request, layer.normalizer(), view.positions(), view.outer) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.asks_ranks = division_.asks_ranks();
    // Nobody need use the other tops.
    booking_.takes_missing_top_diffs = request.tops.size() > 1;
    booking_.saved_bytes = sizeof(LossResult) + static_cast<size_t>(view.positions()) * sizeof(SoftmaxSum);
    booking_.forward_scratch = sum_scratch();
    if (request.tops.size() > 1) booking_.backward_scratch = gradient_scratch();
  }

  /// Behind the LossResult.
  static SoftmaxSum* sums(const KernelRun& run) {
    return reinterpret_cast<SoftmaxSum*>(static_cast<LossResult*>(run.saved) + 1);
  }

  AxisView view_;
  int64_t count_;
  LabelWatch labels_;
  LossDivision division_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
