// CtcLoss: fields, shapes, and the reference kernel: a sample for each thread.

#include "layers/kit/field_checks.h"
#include "layers/types/ctc_loss/ctc_loss.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/kernel.h"
#include "layers/kit/math.h"

namespace robusta {

CtcLossLayer::CtcLossLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.ctc_loss_param();
  if (p.alphabet_size() == 0) {
    throw wrong_setting("ctc_loss_param.alphabet_size",
                        p.has_alphabet_size() ? "alphabet_size is 0" : "no alphabet_size is given",
                        "give the number of classes, the blank among them");
  }
  if (p.time_step() == 0) {
    throw wrong_setting("ctc_loss_param.time_step", p.has_time_step() ? "time_step is 0" : "no time_step is given",
                        "give the number of steps of a sequence");
  }
  if (p.blank_label() < 0 || static_cast<int64_t>(p.blank_label()) >= p.alphabet_size()) {
    throw wrong_setting("ctc_loss_param.blank_label",
                        str("blank_label ", p.blank_label(), " is out of range 0..", p.alphabet_size() - 1),
                        "it is one of the classes");
  }
}

std::vector<Shape> CtcLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto& p = param().ctc_loss_param();
  const Shape &scores = bottoms[0], &labels = bottoms[1];
  if (scores.axes() < 3 || scores.count(2) != p.alphabet_size()) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", scores.str()),
                str("wanted are scores of steps x samples x ", p.alphabet_size(), " classes (alphabet_size)"))
        .in_field("bottom");
  }
  if (labels.axes() == 0 || labels[0] != scores[1]) {
    throw Error(ErrorKind::kConfig,
                str("bottom 0 has ", scores[1], " samples (", scores.str(), "), and bottom 1 has shape ", labels.str()),
                "the labels of a sample are a row of bottom 1; the scores' second axis is the samples")
        .in_field("bottom");
  }
  if (p.time_step() > scores[0]) {
    throw wrong_setting("ctc_loss_param.time_step",
                        str("time_step is ", p.time_step(), ", but bottom 0 has ", scores[0], " steps"),
                        "give at most as many");
  }
  extents_ = {.steps = scores[0],
              .samples = scores[1],
              .classes = scores.count(2),
              .counted = p.time_step(),
              .width = labels.count(1),
              .blank = p.blank_label()};
  // What is kept grows with steps x samples x states; 16 bytes each are the logarithms forward and backward in double.
  check_extents(Shape{extents_.rows(), extents_.most_states(), 16});
  return {Shape{}};
}

namespace {

template <typename T>
class CtcLossReference : public Kernel {
 public:
  explicit CtcLossReference(const KernelRequest& request)
      : layer_(request.layer<CtcLossLayer>()), e_(layer_.extents()), backward_(request.backward) {
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = static_cast<size_t>(CtcMemory<T>(e_).bytes);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    check_labels(run.bottoms[1].as<T>(), e_.samples * e_.width, e_.width, e_.classes, std::nullopt, *run.pass);
    const auto paths = paths_of(run);
    T* log_sums = CtcMemory<T>(e_, run.saved).log_sums;
    parallel_for(e_.rows(), 1 + (1 << 12) / e_.classes,
                 [&](int64_t row) { log_sums[row] = log_of_sum(paths.scores + row * e_.classes); });
    parallel_for(e_.samples, 1, [&](int64_t sample) { paths.run(sample, backward_); });
    double sum = 0;
    for (int64_t sample = 0; sample < e_.samples; ++sample) sum += paths.losses[sample];
    run.tops[0].as<T>()[0] = static_cast<T>(sum / layer_.loss_divisor(run.pass->ranks));
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const auto paths = paths_of(run);
    T* dx = run.bottom_diffs[0].as<T>();
    const T scale = static_cast<T>(run.top_diffs[0].as<T>()[0] / layer_.gradient_divisor(run.pass->ranks));
    parallel_for(e_.steps * e_.samples, 4, [=, this](int64_t row) {
      for (int64_t c = 0; c < e_.classes; ++c) {
        dx[row * e_.classes + c] = scale * paths.gradient(row / e_.samples, row % e_.samples, c);
      }
    });
  }

 private:
  CtcPaths<ExactMath<T>, T, T> paths_of(const KernelRun& run) const {
    return CtcMemory<T>(e_, run.saved).template paths<ExactMath<T>>(e_, run.bottoms[0].as<T>(), run.bottoms[1].as<T>());
  }

  T log_of_sum(const T* scores) const {
    const T largest = *std::max_element(scores, scores + e_.classes);
    double sum = 0;
    for (int64_t c = 0; c < e_.classes; ++c) sum += std::exp(static_cast<double>(scores[c]) - largest);
    return static_cast<T>(largest + std::log(sum));
  }

  const CtcLossLayer& layer_;
  const CtcExtents e_;
  bool backward_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("CtcLoss", CtcLossLayer);
ROBUSTA_REGISTER_REFERENCE("CtcLoss", CtcLossReference);

}  // namespace robusta
