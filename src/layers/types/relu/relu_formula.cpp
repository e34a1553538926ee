// ReLU: y = x for x > 0, negative_slope * x else (Nair and Hinton 2010; with a slope: Maas, Hannun, Ng 2013).
//
// Backward needs only y where y > 0 exactly where x > 0, so that x may be overwritten.

#include "layers/backends/formula.h"
#include "layers/kit/in_place.h"
#include "layers/kit/rectifier.h"
#include "layers/kit/roles.h"

namespace robusta {
namespace {

class ReluLayer : public ElementwiseLayer, public Rectifier, public ReadsItsBlob, public LeavesContent {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  float slope() const override { return param().relu_param().negative_slope(); }
  BackwardRead backward_read() const override { return {.top = false, .needs = Content::kSigns}; }
  Content leaves() const override {
    return slope() == 0 ? Content::kAll : slope() > 0 ? Content::kSigns : Content::kNothing;
  }
};

template <typename Math>
struct Relu {
  using T = typename Math::T;
  explicit Relu(const caffe::LayerParameter& layer) : below(layer.relu_param().negative_slope()) {}
  SlopeFrom slope_from() const { return below >= 0 ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return rectified(x, below); }
  ROBUSTA_GPU T slope(T s) const { return rectified_gradient(s, T{1}, below); }

  T below;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("ReLU", Relu, ReluLayer);

}  // namespace robusta
