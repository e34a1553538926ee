// Threshold: y = 1 for x > threshold, 0 else. It has no backward: the derivative is 0 wherever there is one.

#include "layers/backends/formula.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

class ThresholdLayer : public ElementwiseLayer {
 public:
  explicit ThresholdLayer(const caffe::LayerParameter& param) : ElementwiseLayer(param) {
    require_finite(param.threshold_param().threshold(), "threshold_param.threshold");
  }
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }
};

template <typename Math>
struct Threshold {
  using T = typename Math::T;
  explicit Threshold(const caffe::LayerParameter& layer) : threshold(layer.threshold_param().threshold()) {}
  static SlopeFrom slope_from() { return SlopeFrom::kNothing; }
  ROBUSTA_GPU T value(T x) const { return static_cast<T>(x > threshold); }
  ROBUSTA_GPU T slope(T) const { return 0; }

  T threshold;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Threshold", Threshold, ThresholdLayer);

}  // namespace robusta
