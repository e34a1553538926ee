// LabelsequenceAccuracy: shapes and the reference kernel.

#include "layers/types/labelsequence_accuracy/labelsequence_accuracy.h"

#include "base/parallel.h"
#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

std::vector<Shape> LabelsequenceAccuracyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &scores = bottoms[0], &labels = bottoms[1];
  if (scores.axes() < 3 || labels.axes() == 0 || labels[0] != scores[0]) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", scores.str(), " and bottom 1 ", labels.str()),
                "wanted are scores of samples x steps x classes, and a row of labels for each sample")
        .in_field("bottom");
  }
  sequences_ = {.samples = scores[0],
                .steps = scores[1],
                .classes = scores.count(2),
                .width = labels.count(1),
                .blank = param().labelsequence_accuracy_param().blank_label()};
  return {Shape{}};
}

namespace {

template <typename T>
class LabelsequenceAccuracyReference : public Kernel {
 public:
  explicit LabelsequenceAccuracyReference(const KernelRequest& request)
      : s_(request.layer<LabelsequenceAccuracyLayer>().sequences()) {
    book_reads_nothing(2, booking_);
    booking_.forward_scratch = static_cast<size_t>(s_.rows()) * sizeof(int32_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *scores = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    check_labels(labels, s_.samples * s_.width, s_.width, s_.classes, s_.blank, *run.pass);
    auto* best = static_cast<int32_t*>(run.scratch);
    parallel_for(s_.rows(), 1 + (1 << 12) / s_.classes,
                 [=, this](int64_t row) { best[row] = s_.best_class(scores, row); });
    int64_t right = 0;
    for (int64_t sample = 0; sample < s_.samples; ++sample) right += s_.is_right(sample, best, labels);
    run.tops[0].as<T>()[0] = static_cast<T>(right) / static_cast<T>(s_.samples);
  }

  void backward(const KernelRun&) override {}

 private:
  const LabelSequences s_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("LabelsequenceAccuracy", LabelsequenceAccuracyLayer);
ROBUSTA_REGISTER_REFERENCE("LabelsequenceAccuracy", LabelsequenceAccuracyReference);

}  // namespace robusta
