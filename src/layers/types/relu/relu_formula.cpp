// ReLU: y = x for x > 0, negative_slope * x else. Backward needs only y where y > 0 exactly where x > 0.

#include "layers/backends/formula.h"
#include "layers/types/relu/relu.h"

namespace robusta {
namespace {

template <typename Math>
struct Relu {
  using T = typename Math::T;
  explicit Relu(const caffe::LayerParameter& layer) : below(layer.relu_param().negative_slope()) {}
  SlopeFrom slope_from() const { return below >= 0 ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x > 0, x, below * x); }
  ROBUSTA_GPU T slope(T s) const { return Math::select(s > 0, 1, below); }

  T below;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("ReLU", Relu, ReluLayer);

}  // namespace robusta
