// CTCGreedyDecoder: fields, shapes and the reference kernel.

#include "layers/types/ctc_greedy_decoder/ctc_greedy_decoder.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

std::vector<Shape> CtcGreedyDecoderLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& scores = bottoms[0];
  for (size_t i = 1; i < bottoms.size(); ++i) {
    if (scores.axes() >= 3 && bottoms[i].count() == scores[0] * scores[1]) continue;
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", scores.str(), " and bottom ", i, " ", bottoms[i].str()),
                "wanted are scores of steps x samples x classes, and a number for each step and sample")
        .in_field("bottom");
  }
  if (param().bottom_size() < 3 && param().top_size() > 2) {
    throw Error(ErrorKind::kConfig, str("there are ", param().top_size(), " tops for two bottoms"),
                "an accuracy wants the targets as bottom 2")
        .in_field("top");
  }
  const int64_t classes = scores.count(2), given = param().ctc_decoder_param().blank_index();
  if (given >= classes) {
    throw Error(ErrorKind::kConfig, str("blank_index ", given, " is out of range 0..", classes - 1),
                "it is one of the classes; -1 stands for the last")
        .in_field("ctc_decoder_param.blank_index");
  }
  shape_ = scores;
  blank_ = given < 0 ? classes - 1 : given;
  std::vector<Shape> tops{{scores[1], scores[0], 1, 1}};
  if (has_score()) tops.push_back({scores[1], 1, 1, 1});
  if (has_accuracy()) tops.push_back({1, 1, 1, 1});
  return tops;
}

namespace {

template <typename T>
class CtcGreedyDecoderReference : public Kernel {
 public:
  explicit CtcGreedyDecoderReference(const KernelRequest& request) : layer_(request.layer<CtcGreedyDecoderLayer>()) {
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.forward_scratch = static_cast<size_t>(layer_.samples()) * sizeof(double) +
                               static_cast<size_t>(layer_.samples() * (layer_.steps() + 1)) * sizeof(int32_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const auto decoding = layer_.decoding(run.bottoms[0].as<T>(), run.bottoms[1].as<T>(),
                                          run.bottoms.size() > 2 ? run.bottoms[2].as<T>() : nullptr);
    T* labels = run.tops[0].as<T>();
    const int score_top = layer_.score_top(), accuracy_top = layer_.accuracy_top();
    auto* faults = static_cast<double*>(run.scratch);
    auto* rows = reinterpret_cast<int32_t*>(faults + layer_.samples());
    parallel_for(layer_.samples(), 1, [&](int64_t n) {
      T* own = labels + n * layer_.steps();
      const double score = decoding.decode(n, own);
      if (score_top > 0) run.tops[static_cast<size_t>(score_top)].template as<T>()[n] = static_cast<T>(score);
      if (accuracy_top > 0) faults[n] = decoding.fault(n, own, rows + n * (layer_.steps() + 1));
    });
    if (accuracy_top < 0) return;
    double sum = 0;
    for (int64_t n = 0; n < layer_.samples(); ++n) sum += faults[n];
    run.tops[static_cast<size_t>(accuracy_top)].template as<T>()[0] =
        static_cast<T>(1 - sum / static_cast<double>(layer_.samples()));
  }

  void backward(const KernelRun&) override {}

 private:
  const CtcGreedyDecoderLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("CTCGreedyDecoder", CtcGreedyDecoderLayer);
ROBUSTA_REGISTER_REFERENCE("CTCGreedyDecoder", CtcGreedyDecoderReference);

}  // namespace robusta
