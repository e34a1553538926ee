// SigmoidCrossEntropyLoss: meaning and reference kernel.
//
// Sigmoid and logarithm are taken together, -t log p - (1 - t) log(1 - p) = max(x, 0) - x t + log(1 + e^-|x|), which
// overflows for no score; the gradient is p - t.

#include "layers/types/sigmoid_cross_entropy_loss/sigmoid_cross_entropy_loss.h"

#include <cmath>

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/kernel.h"
#include "layers/kit/labels.h"

namespace robusta {

std::vector<Shape> SigmoidCrossEntropyLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  if (bottoms[0].axes() == 0 || bottoms[0].count() != bottoms[1].count()) {
    throw Error(ErrorKind::kConfig, str("scores (", bottoms[0].str(), ") and targets (", bottoms[1].str(),
                                        ") must be equally many and have a batch axis"))
        .in_field("bottom");
  }
  return {Shape{}};
}

namespace {

template <typename T>
class SigmoidCrossEntropyLossReference : public Kernel {
 public:
  explicit SigmoidCrossEntropyLossReference(const KernelRequest& request)
      : normalizer_(request.layer<SigmoidCrossEntropyLossLayer>().normalizer()),
        count_(request.bottoms[0].count()),
        batch_(request.bottoms[0].shape[0]) {
    booking_.reads_bottoms = {true, true};
    // A net that is planned anew in the middle of a pass has other kernels in backward.
    if (request.backward) booking_.saved_bytes = sizeof(double);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const T* target = run.bottoms[1].as<T>();
    double loss = 0;
    for (int64_t i = 0; i < count_; ++i) {
      // log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
      if (!ignored(target[i])) loss += std::max(x[i], T{0}) - x[i] * target[i] + std::log1p(std::exp(-std::abs(x[i])));
    }
    const double among = divisor(target, run.pass->ranks);
    if (booking_.saved_bytes > 0) *static_cast<double*>(run.saved) = among;
    run.tops[0].as<T>()[0] = static_cast<T>(loss / among);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* x = run.bottoms[0].as<T>();
    const T* target = run.bottoms[1].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const T scale = static_cast<T>(run.top_diffs[0].as<T>()[0] / *static_cast<const double*>(run.saved));
    // Where e^-x overflows to infinity, p is 0, as it should be.
    parallel_for(count_, 1 << 12, [=, this](int64_t i) {
      dx[i] = ignored(target[i]) ? T{0} : scale * (1 / (1 + std::exp(-x[i])) - target[i]);
    });
  }

 private:
  /// Targets are compared as integers: one of 0.9 is ignored by ignore_label 0 (as in Caffe).
  bool ignored(T target) const { return normalizer_.ignored() == to_label(target); }

  // Of the targets that count (kit/loss_normalizer.h).
  double divisor(const T* target, StepReduce* ranks) const {
    int64_t valid = 0;
    for (int64_t i = 0; i < count_; ++i) valid += !ignored(target[i]);
    return normalizer_.divisor(valid, count_, batch_, ranks);
  }

  const LossNormalizer& normalizer_;
  int64_t count_, batch_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("SigmoidCrossEntropyLoss", SigmoidCrossEntropyLossLayer);
ROBUSTA_REGISTER_REFERENCE("SigmoidCrossEntropyLoss", SigmoidCrossEntropyLossReference);

}  // namespace robusta
