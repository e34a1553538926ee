// Swish: y = x s with s = sigmoid(beta x), dy/dx = s + beta y (1 - s) (Ramachandran, Zoph, Le 2017, "Searching for
// activation functions").

#include "layers/backends/formula.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

class SwishLayer : public ElementwiseLayer {
 public:
  explicit SwishLayer(const caffe::LayerParameter& param) : ElementwiseLayer(param) {
    require_finite(param.swish_param().beta(), "swish_param.beta");
  }
};

template <typename Math>
struct Swish {
  using T = typename Math::T;
  explicit Swish(const caffe::LayerParameter& layer) : beta(layer.swish_param().beta()) {}
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return x * Math::sigmoid(beta * x); }
  ROBUSTA_GPU T slope(T x) const {
    const T s = Math::sigmoid(beta * x);
    return s + beta * x * s * (1 - s);
  }

  T beta;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Swish", Swish, SwishLayer);

}  // namespace robusta
