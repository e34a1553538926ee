// SegAccuracy on the GPU, in four passes: the first label that is out of range, for the host to throw
// (backends/gpu/labels.h); the class that each position is taken for; the counts of each class, over all positions; and
// the sums over the classes.

#include <algorithm>

#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/booking.h"
#include "layers/types/seg_accuracy/seg_accuracy.h"
#include "memory/placement.h"

namespace robusta {
namespace {

/// Labels, of which several do not count.
struct SegLabels {
  LabelReader label;
  const float* ignored;
  int64_t ignored_count;

  ROBUSTA_GPU int operator()(int64_t position) const {
    const auto own = static_cast<float>(to_label(label.labels[position]));
    for (int64_t i = 0; i < ignored_count; ++i) {
      if (ignored[i] == own) return LabelReader::kIgnored;
    }
    return label(position);
  }
};

/// For reduce_all: finds the first label that is out of range.
struct FirstBadSegLabel {
  using Sum = int64_t;
  SegLabels labels;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t position) const { return labels(position) == LabelReader::kBad ? position : kNoPlace; }
  ROBUSTA_GPU void store(Sum first) const { labels.label.report(first); }
};

struct TakenClass {
  float score;
  int64_t place;  ///< -1: none
};

/// For reduce_classes: the last class of the largest score.
template <typename T>
struct TakenClasses {
  using Sum = TakenClass;
  ClassIndex index;
  const T* scores;
  int64_t* taken;
  ROBUSTA_GPU Sum zero() const { return {0, -1}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    if (a.score != b.score) return a.score > b.score ? a : b;
    return a.place > b.place ? a : b;
  }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const auto score = static_cast<float>(scores[index.element(position, c)]);
    return score == score ? Sum{score, c} : zero();
  }
  ROBUSTA_GPU void store(int64_t position, Sum best) const { taken[position] = best.place; }
};

/// For reduce_rows: a row is a class, a column a position.
struct SegClassCounts {
  using Sum = SegCounts;
  SegLabels labels;
  const int64_t* taken;
  SegCounts* counts;
  ROBUSTA_GPU Sum zero() const { return {0, 0, 0}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.found + b.found, a.there + b.there, a.taken + b.taken}; }
  ROBUSTA_GPU Sum term(int64_t c, int64_t position) const {
    const int own = labels(position);
    if (own < 0) return zero();
    const bool there = own == c, is_taken = taken[position] == c;
    return {there && is_taken, there, is_taken};
  }
  ROBUSTA_GPU void store(int64_t c, Sum sum) const { counts[c] = sum; }
};

/// For reduce_all, over the classes.
struct SegShares {
  using Sum = SegSums;
  const SegCounts* counts;
  int64_t classes;
  float* top;
  ROBUSTA_GPU Sum zero() const { return {0, 0, 0, 0, 0}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return SegSums::join(a, b); }
  ROBUSTA_GPU Sum term(int64_t c) const { return SegSums::of(counts[c]); }
  ROBUSTA_GPU void store(Sum sums) const { sums.write(classes, top); }
};

template <typename T>
class SegAccuracyGpu : public Kernel {
 public:
  explicit SegAccuracyGpu(const KernelRequest& request)
      : view_(SegAccuracyLayer::view(request.bottoms[0].shape)),
        labels_(request, view_.classes, view_.positions_per(request.bottoms[0].shape[0]), std::nullopt),
        ignored_(copied_to_device(request, as_floats(request.layer<SegAccuracyLayer>().ignored()))) {
    book_scores<T>(request, booking_);
    book_reads_nothing(request.bottoms.size(), booking_);
    sums_ = align_up(std::max(reduce_all_scratch<FirstBadSegLabel>(view_.positions()),
                              reduce_all_scratch<SegShares>(view_.classes)));
    booking_.forward_scratch = sums_ + static_cast<size_t>(view_.classes) * sizeof(SegCounts) +
                               static_cast<size_t>(view_.positions()) * sizeof(int64_t);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const SegLabels labels{labels_.reader(run.bottoms[1].as<float>()), static_cast<const float*>(ignored_.data()),
                           static_cast<int64_t>(ignored_.bytes() / sizeof(float))};
    auto* counts = reinterpret_cast<SegCounts*>(static_cast<char*>(run.scratch) + sums_);
    auto* taken = reinterpret_cast<int64_t*>(counts + view_.classes);
    reduce_all(run.stream, view_.positions(), run.scratch, FirstBadSegLabel{labels});
    reduce_classes(run.stream, view_, TakenClasses<T>{ClassIndex(view_), run.bottoms[0].as<T>(), taken});
    reduce_rows(run.stream, view_.classes, view_.positions(), SegClassCounts{labels, taken, counts});
    reduce_all(run.stream, view_.classes, run.scratch, SegShares{counts, view_.classes, run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}
  void check(const Pass& pass) override { labels_.check(pass); }

 private:
  static std::vector<float> as_floats(const std::vector<int>& labels) { return {labels.begin(), labels.end()}; }

  AxisView view_;
  LabelWatch labels_;
  DeviceBuffer ignored_;
  size_t sums_ = 0;  // bytes of scratch before the counts
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("SegAccuracy", SegAccuracyGpu);

}  // namespace robusta
