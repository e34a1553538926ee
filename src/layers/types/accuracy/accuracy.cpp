// Accuracy: meaning and reference kernel.
//
// Position by position, in the order of storage. Labels are checked before any is counted, so that a bad one is
// reported with its sample and no half result is left behind.

#include "layers/types/accuracy/accuracy.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/booking.h"
#include "layers/kit/labels.h"

namespace robusta {

std::vector<Shape> AccuracyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms[0];
  axis_ = canonical_axis(scores, param().accuracy_param().axis(), "accuracy_param.axis");
  const int64_t classes = scores[axis_];
  check_label_count(scores, axis_, bottoms[1], "accuracy_param.axis");
  if (top_k() < 1 || top_k() > classes) {
    throw Error(ErrorKind::kConfig, str("top_k ", top_k(), " does not lie between 1 and the ", classes, " classes"))
        .in_field("accuracy_param.top_k");
  }
  if (param().top_size() < 2) return {Shape{}};
  return {Shape{}, Shape{classes}};
}

namespace {

template <typename T>
class AccuracyReference : public Kernel {
 public:
  explicit AccuracyReference(const KernelRequest& request)
      : layer_(request.layer<AccuracyLayer>()),
        view_(request.bottoms[0].shape, layer_.axis()),
        per_sample_(view_.positions_per(request.bottoms[0].shape[0])) {
    // There is no backward: neither scores nor labels are kept.
    book_reads_nothing(2, booking_);
    if (request.tops.size() == 2) booking_.forward_scratch = static_cast<size_t>(view_.classes) * sizeof(int64_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* labels = run.bottoms[1].as<T>();
    check_labels(labels, view_.positions(), per_sample_, view_.classes, layer_.ignored(), *run.pass);
    T* class_hits = run.tops.size() == 2 ? run.tops[1].as<T>() : nullptr;
    auto* class_total = static_cast<int64_t*>(run.scratch);
    for (int64_t c = 0; class_hits && c < view_.classes; ++c) class_hits[c] = 0, class_total[c] = 0;
    int64_t hits = 0, total = 0;
    for (int64_t position = 0; position < view_.positions(); ++position) {
      const int label = to_label(labels[position]);
      if (label == layer_.ignored()) continue;
      const bool hit = is_hit(run.bottoms[0].as<T>(), position, label);
      hits += hit, ++total;
      if (class_hits) class_hits[label] += hit, ++class_total[label];
    }
    run.tops[0].as<T>()[0] = share(static_cast<T>(hits), total);
    for (int64_t c = 0; class_hits && c < view_.classes; ++c) class_hits[c] = share(class_hits[c], class_total[c]);
  }

  void backward(const KernelRun&) override {}

 private:
  /// A share of nothing is 0 (as in Caffe).
  static T share(T hits, int64_t total) { return total == 0 ? T{0} : hits / static_cast<T>(total); }

  /// Fewer than top_k other classes score at least as much as the true one: ties count against it, as in BVLC Caffe. A
  /// score that is no number is a miss.
  bool is_hit(const T* scores, int64_t position, int64_t label) const {
    const T* column = scores + position / view_.inner * view_.classes * view_.inner + position % view_.inner;
    const T own = column[label * view_.inner];
    int64_t better = 0;
    for (int64_t c = 0; c < view_.classes; ++c) better += c != label && !(column[c * view_.inner] < own);
    return better < layer_.top_k();
  }

  const AccuracyLayer& layer_;
  AxisView view_;
  int64_t per_sample_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Accuracy", AccuracyLayer);
ROBUSTA_REGISTER_REFERENCE("Accuracy", AccuracyReference);

}  // namespace robusta
