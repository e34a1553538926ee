// ContinuationIndicator: the second bottom of LSTM and RNN for sequences that each fill a batch: 0 at the first step,
// then 1. A top [time_step, batch_size], as in yalecyu/crnn.caffe (continuation_indicator_layer.cpp).

#include "layers/types/continuation_indicator/continuation_indicator.h"

#include "base/str.h"

namespace robusta {
namespace {

void require_extent(bool given, int64_t value, const std::string& name, const std::string& fix) {
  if (value > 0) return;
  throw Error(ErrorKind::kConfig, given ? name + " is 0" : "no " + name + " is given", fix)
      .in_field("continuation_indicator_param." + name);
}

}  // namespace

ContinuationIndicatorLayer::ContinuationIndicatorLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.continuation_indicator_param();
  require_extent(p.has_time_step(), p.time_step(), "time_step", "give the number of steps of a sequence");
  require_extent(p.has_batch_size(), p.batch_size(), "batch_size", "give the number of sequences of a batch");
  check_extents(shape());
}

Shape ContinuationIndicatorLayer::shape() const {
  const auto& p = param().continuation_indicator_param();
  return {p.time_step(), p.batch_size()};
}

namespace {

template <typename T>
class ContinuationIndicatorReference : public Kernel {
 public:
  explicit ContinuationIndicatorReference(const KernelRequest&) { booking_.repeatable = true; }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    const int64_t first = run.tops[0].shape()[1];
    parallel_for(run.tops[0].count(), kElementwiseGrain, [=](int64_t i) { y[i] = static_cast<T>(i >= first); });
  }

  void backward(const KernelRun&) override {}
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ContinuationIndicator", ContinuationIndicatorLayer);
ROBUSTA_REGISTER_REFERENCE("ContinuationIndicator", ContinuationIndicatorReference);

}  // namespace robusta
