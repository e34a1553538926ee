// LabelSpecificHardMargin: fields, shapes and the reference kernel.

#include "layers/types/label_specific_hard_margin/label_specific_hard_margin.h"

#include <cmath>

#include "layers/kit/field_checks.h"

namespace robusta {

LabelSpecificHardMarginLayer::LabelSpecificHardMarginLayer(const caffe::LayerParameter& param)
    : LabelSpecificLayer(param, {.amounts = 1, .statistic = 0, .acts = param.phase() == caffe::TRAIN}) {
  require_finite(weight(), "label_specific_hard_margin_param.positive_weight");
}

std::vector<Shape> LabelSpecificHardMarginLayer::infer_tops(const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = LabelSpecificLayer::infer_tops(bottoms);
  if (bottoms[0].count(1) > 1) return tops;
  throw Error(ErrorKind::kConfig, str("bottom 0 (", bottoms[0].str(), ") has one class"),
              "there have to be others, whose mean is taken")
      .in_field("bottom");
}

namespace {

template <typename T>
class LabelSpecificHardMarginReference : public Kernel {
 public:
  explicit LabelSpecificHardMarginReference(const KernelRequest& request)
      : acts_(request.layer<LabelSpecificHardMarginLayer>().acts()),
        margin_{request.bottoms[0].shape[0], request.bottoms[0].shape.count(1),
                static_cast<T>(request.layer<LabelSpecificHardMarginLayer>().weight())} {
    booking_.reads_bottoms = {false, acts_};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    T* y = run.tops[0].as<T>();
    std::copy_n(x, margin_.samples * margin_.classes, y);
    if (acts_) check_labels(labels, margin_.samples, 1, margin_.classes, std::nullopt, *run.pass);
    double moved = 0;
    for (int64_t n = 0; acts_ && n < margin_.samples; ++n) {
      double sum = 0;
      for (int64_t c = 0; c < margin_.classes; ++c) sum += x[n * margin_.classes + c];
      const int64_t own = n * margin_.classes + to_label(labels[n]);
      y[own] = margin_.value(x[own], static_cast<T>(sum));
      moved += std::abs(static_cast<double>(y[own]) - x[own]);
    }
    if (run.tops.size() < 2) return;
    run.tops[1].as<T>()[0] = margin_.degrees(static_cast<T>(moved / static_cast<double>(margin_.samples)));
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *labels = run.bottoms[1].as<T>(), *dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    if (acts_) check_labels(labels, margin_.samples, 1, margin_.classes, std::nullopt, *run.pass);
    parallel_for(margin_.samples, 1 + (1 << 13) / margin_.classes, [=, this](int64_t n) {
      const int64_t first = n * margin_.classes, label = acts_ ? to_label(labels[n]) : 0;
      for (int64_t c = 0; c < margin_.classes; ++c) {
        dx[first + c] = acts_ ? margin_.gradient(c == label, dy[first + c], dy[first + label]) : dy[first + c];
      }
    });
  }

 private:
  bool acts_;
  HardMargin<T> margin_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("LabelSpecificHardMargin", LabelSpecificHardMarginLayer);
ROBUSTA_REGISTER_REFERENCE("LabelSpecificHardMargin", LabelSpecificHardMarginReference);

}  // namespace robusta
