// EuclideanLoss: L = sum (a - b)^2 / (2 N) for N samples; dL/da = (a - b) / N = -dL/db.
//
// The sum is carried in double: it is of as many terms as a batch has elements.

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/kernel.h"

namespace robusta {
namespace {

class EuclideanLossLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[0].count());
  }
};

std::vector<Shape> EuclideanLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape &a = bottoms[0], &b = bottoms[1];
  if (a.axes() == 0 || b.axes() == 0 || a[0] != b[0] || a.count(1) != b.count(1)) {
    throw Error(ErrorKind::kConfig, str("the bottoms (", a.str(), " and ", b.str(),
                                        ") must have as many samples, and as many elements in each"))
        .in_field("bottom");
  }
  return {Shape{}};
}

template <typename T>
class EuclideanLossReference : public Kernel {
 public:
  explicit EuclideanLossReference(const KernelRequest& request)
      : count_(request.bottoms[0].count()), batch_(request.bottoms[0].shape[0]) {
    // The gradient of each bottom needs both values.
    booking_.reads_bottoms = {true, true};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* a = run.bottoms[0].as<T>();
    const T* b = run.bottoms[1].as<T>();
    double sum = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const double difference = static_cast<double>(a[i]) - b[i];
      sum += difference * difference;
    }
    run.tops[0].as<T>()[0] = static_cast<T>(sum / (2.0 * static_cast<double>(batch_)));
  }

  void backward(const KernelRun& run) override {
    const T* a = run.bottoms[0].as<T>();
    const T* b = run.bottoms[1].as<T>();
    for (int bottom = 0; bottom < 2; ++bottom) {
      if (!run.bottom_diffs[bottom]) continue;
      T* dx = run.bottom_diffs[bottom].as<T>();
      const T scale = (bottom == 0 ? 1 : -1) * run.top_diffs[0].as<T>()[0] / static_cast<T>(batch_);
      parallel_for(count_, 1 << 14, [=](int64_t i) { dx[i] = scale * (a[i] - b[i]); });
    }
  }

 private:
  int64_t count_, batch_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("EuclideanLoss", EuclideanLossLayer);
ROBUSTA_REGISTER_REFERENCE("EuclideanLoss", EuclideanLossReference);

}  // namespace robusta
