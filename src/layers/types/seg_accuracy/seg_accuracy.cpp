// SegAccuracy: fields, shapes, and the reference kernel.

#include "layers/types/seg_accuracy/seg_accuracy.h"

#include <algorithm>

#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/labels.h"

namespace robusta {

SegAccuracyLayer::SegAccuracyLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (param.seg_accuracy_param().reset()) return;
  throw Error(ErrorKind::kUnsupported, "counting on from pass to pass is not done by this build",
              "leave reset out: tests show the means over their passes")
      .in_field("seg_accuracy_param.reset");
}

std::vector<int> SegAccuracyLayer::ignored() const {
  const auto& given = param().seg_accuracy_param().ignore_label();
  return {given.begin(), given.end()};
}

std::optional<LabelUse> SegAccuracyLayer::label_use(const std::vector<Shape>& bottoms) const {
  const std::vector<int> all = ignored();
  if (all.size() > 1) return std::nullopt;
  return LabelUse{0, 1, bottoms[0][1], all.empty() ? std::nullopt : std::optional(all[0])};
}

std::vector<Shape> SegAccuracyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (bottoms[0].axes() < 2) {
    throw Error(ErrorKind::kConfig, str("takes scores of items, classes and further axes, not ", bottoms[0].str()))
        .in_field("bottom");
  }
  check_label_count(bottoms[0], 1, bottoms[1], "axis 1");
  return {Shape{1, 1, 1, 3}};
}

namespace {

template <typename T>
class SegAccuracyReference : public Kernel {
 public:
  explicit SegAccuracyReference(const KernelRequest& request)
      : view_(SegAccuracyLayer::view(request.bottoms[0].shape)),
        ignored_(request.layer<SegAccuracyLayer>().ignored()),
        per_sample_(view_.positions_per(request.bottoms[0].shape[0])) {
    book_reads_nothing(2, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *scores = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    std::vector<SegCounts> counts(static_cast<size_t>(view_.classes));
    for (int64_t position = 0; position < view_.positions(); ++position) {
      const int label = to_label(labels[position]);
      if (std::find(ignored_.begin(), ignored_.end(), label) != ignored_.end()) continue;
      if (label < 0 || label >= view_.classes) {
        throw_bad_label(labels[position], run.pass->first_sample + static_cast<uint64_t>(position / per_sample_),
                        view_.classes);
      }
      const int64_t taken = largest(scores, position);
      SegCounts& own = counts[static_cast<size_t>(label)];
      ++own.there;
      own.found += taken == label;
      if (taken >= 0) ++counts[static_cast<size_t>(taken)].taken;
    }
    SegSums sums;
    for (const SegCounts& of_class : counts) sums = SegSums::join(sums, SegSums::of(of_class));
    sums.write(view_.classes, run.tops[0].as<T>());
  }

  void backward(const KernelRun&) override {}

 private:
  /// -1: no score is a number.
  int64_t largest(const T* scores, int64_t position) const {
    const T* column = scores + position / view_.inner * view_.classes * view_.inner + position % view_.inner;
    int64_t best = -1;
    for (int64_t c = 0; c < view_.classes; ++c) {
      const T score = column[c * view_.inner];
      if (score == score && (best < 0 || score >= column[best * view_.inner])) best = c;
    }
    return best;
  }

  AxisView view_;
  std::vector<int> ignored_;
  int64_t per_sample_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("SegAccuracy", SegAccuracyLayer);
ROBUSTA_REGISTER_REFERENCE("SegAccuracy", SegAccuracyReference);

}  // namespace robusta
