// Accuracy on the GPU, in two passes: for each position the number of classes that beat the true one, over all classes;
// then the share of positions where these are fewer than top_k, and once more for each class where the second top is
// wanted.
//
// A label out of range is no hit; it is noted for the host, which throws when the pass is done (backends/gpu/labels.h).

#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/booking.h"
#include "layers/types/accuracy/accuracy.h"

namespace robusta {
namespace {

/// How many other classes score at least as much as the true one, for each position. Ties count against it, as in BVLC
/// Caffe. Where a score is no number it is a miss.
template <typename T>
struct BetterClasses {
  using Sum = int;
  ClassIndex index;
  LabelReader label;
  const T* scores;
  int* better;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const int own = label(position);
    if (own < 0 || own == c) return 0;
    const float score = static_cast<float>(scores[index.element(position, c)]);
    return !(score < static_cast<float>(scores[index.element(position, own)]));
  }
  ROBUSTA_GPU void store(int64_t position, Sum sum) const { better[position] = sum; }
};

/// What is summed over positions: integers, so that the order of summation does not matter.
struct HitSum {
  int64_t hits, total, first_bad;
};

/// The share of hits among the labels that count: of all positions, or of those whose label is the class of a row.
struct HitShare {
  using Sum = HitSum;
  LabelReader label;
  const int* better;
  int64_t top_k;
  float* share;
  ROBUSTA_GPU Sum zero() const { return {0, 0, kNoPlace}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    return {a.hits + b.hits, a.total + b.total, a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
  /// For reduce_all: one position.
  ROBUSTA_GPU Sum term(int64_t position) const {
    const int own = label(position);
    if (own < 0) return {0, 0, own == label.kBad ? position : kNoPlace};
    return {better[position] < top_k, 1, kNoPlace};
  }
  /// For reduce_rows, where a row is a class: positions with other labels add nothing.
  ROBUSTA_GPU Sum term(int64_t c, int64_t position) const { return label(position) == c ? term(position) : zero(); }
  ROBUSTA_GPU void store(Sum sum) const {
    label.report(sum.first_bad);
    store(0, sum);
  }
  /// A share of nothing is 0 (as in Caffe).
  ROBUSTA_GPU void store(int64_t c, Sum sum) const {
    const float hits = static_cast<float>(sum.hits);
    share[c] = sum.total == 0 ? 0 : hits / static_cast<float>(sum.total);
  }
};

template <typename T>
class AccuracyGpu : public Kernel {
 public:
  explicit AccuracyGpu(const KernelRequest& request)
      : AccuracyGpu(request, request.layer<AccuracyLayer>(),
                    AxisView(request.bottoms[0].shape, request.layer<AccuracyLayer>().axis())) {}
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const LabelReader label = labels_.reader(run.bottoms[1].as<float>());
    auto* better = reinterpret_cast<int*>(static_cast<char*>(run.scratch) + sums_);
    const int64_t positions = view_.positions();
    reduce_classes(run.stream, view_, BetterClasses<T>{ClassIndex(view_), label, run.bottoms[0].as<T>(), better});
    reduce_all(run.stream, positions, run.scratch, HitShare{label, better, top_k_, run.tops[0].as<float>()});
    if (run.tops.size() < 2) return;
    reduce_rows(run.stream, view_.classes, positions, HitShare{label, better, top_k_, run.tops[1].as<float>()});
  }

  void backward(const KernelRun&) override {}
  void check(const Pass& pass) override { labels_.check(pass); }

 private:
  AccuracyGpu(const KernelRequest& request, const AccuracyLayer& layer, const AxisView& view)
      : view_(view),
        top_k_(layer.top_k()),
        sums_(reduce_all_scratch<HitShare>(view.positions())),
        labels_(request, view.classes, view.positions_per(request.bottoms[0].shape[0]), layer.ignored()) {
    book_scores<T>(request, booking_);
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.forward_scratch = sums_ + static_cast<size_t>(view.positions()) * sizeof(int);
  }

  AxisView view_;
  int64_t top_k_;
  size_t sums_;  // bytes of scratch before the counts of better classes
  LabelWatch labels_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("Accuracy", AccuracyGpu);

}  // namespace robusta
