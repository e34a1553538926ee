// TripletLoss: fields, shapes and the reference kernel, which computes in double.

#include "layers/types/triplet_loss/triplet_loss.h"

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/kernel.h"

namespace robusta {

TripletLossLayer::TripletLossLayer(const caffe::LayerParameter& param) : Layer(param) {
  require_finite(margin(), "triplet_loss_param.margin");
}

std::vector<Shape> TripletLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_same_items(bottoms);
  return {Shape{}};
}

namespace {

template <typename T>
class TripletLossReference : public Kernel {
 public:
  explicit TripletLossReference(const KernelRequest& request)
      : layer_(request.layer<TripletLossLayer>()),
        triplets_(request.bottoms[0].shape[0]),
        length_(request.bottoms[0].shape.count(1)) {
    booking_.reads_bottoms = {true, true, true};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    double sum = 0;
    for (int64_t t = 0; t < triplets_; ++t) {
      const double gap = gap_of(run, t);
      sum += gap < 0 ? 0 : gap;  // a NaN stays one
    }
    run.tops[0].as<T>()[0] = static_cast<T>(sum / (2 * layer_.divisor(triplets_, run.pass->ranks)));
  }

  void backward(const KernelRun& run) override {
    const T *a = run.bottoms[0].as<T>(), *p = run.bottoms[1].as<T>(), *n = run.bottoms[2].as<T>();
    const double share = run.top_diffs[0].as<T>()[0] / layer_.divisor(triplets_, run.pass->ranks);
    for (int bottom = 0; bottom < 3; ++bottom) {
      if (!run.bottom_diffs[bottom]) continue;
      T* dx = run.bottom_diffs[bottom].as<T>();
      parallel_for(triplets_, (1 << 12) / (length_ + 1) + 1, [=, this, &run](int64_t t) {
        const double scale = gap_of(run, t) > 0 ? share : 0;
        for (int64_t i = t * length_; i < (t + 1) * length_; ++i) {
          dx[i] = static_cast<T>(scale * triplet_slope<double>(bottom, a[i], p[i], n[i]));
        }
      });
    }
  }

 private:
  double gap_of(const KernelRun& run, int64_t t) const {
    const T *a = run.bottoms[0].as<T>(), *p = run.bottoms[1].as<T>(), *n = run.bottoms[2].as<T>();
    double gap = layer_.margin();
    for (int64_t i = t * length_; i < (t + 1) * length_; ++i) {
      const double near = static_cast<double>(a[i]) - p[i], far = static_cast<double>(a[i]) - n[i];
      gap += near * near - far * far;
    }
    return gap;
  }

  const TripletLossLayer& layer_;
  int64_t triplets_, length_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("TripletLoss", TripletLossLayer);
ROBUSTA_REGISTER_REFERENCE("TripletLoss", TripletLossReference);

}  // namespace robusta
