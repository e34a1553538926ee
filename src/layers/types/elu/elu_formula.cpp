// ELU: y = lambda * x for x > 0, lambda * alpha * (e^x - 1) else (Clevert, Unterthiner, Hochreiter 2016; lambda as in
// SELU, Klambauer et al. 2017).

#include "layers/backends/formula.h"
#include "layers/kit/in_place.h"

namespace robusta {
namespace {

class EluLayer : public ElementwiseLayer, public ReadsItsBlob {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  BackwardRead backward_read() const override { return {.top = false, .needs = Content::kAll}; }
};

template <typename Math>
struct Elu {
  using T = typename Math::T;
  explicit Elu(const caffe::LayerParameter& layer)
      : lambda(layer.elu_param().lambda()),
        scale(lambda * static_cast<T>(layer.elu_param().alpha())),
        from_top(lambda > 0 && scale >= 0) {}
  SlopeFrom slope_from() const { return from_top ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x > 0, lambda * x, scale * Math::expm1(x)); }
  ROBUSTA_GPU T slope(T s) const {
    return Math::select(s > 0, lambda, Math::select(from_top, s + scale, scale * Math::exp(s)));
  }

  T lambda, scale;
  bool from_top;  ///< y > 0 exactly where x > 0: backward can do with y
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("ELU", Elu, EluLayer);

}  // namespace robusta
