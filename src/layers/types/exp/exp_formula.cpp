// Exp: y = base^(shift + scale * x), computed as e^(a + b x), a = shift log(base) and b = scale log(base); dy/dx = b y.

#include "layers/backends/formula.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

class ExpLayer : public ResultLayer {
 public:
  explicit ExpLayer(const caffe::LayerParameter& param) : ResultLayer(param) {
    log_of_base(param.exp_param().base(), "exp_param.base");
    require_finite(param.exp_param().scale(), "exp_param.scale");
    require_finite(param.exp_param().shift(), "exp_param.shift");
  }
};

template <typename Math>
struct Exp {
  using T = typename Math::T;
  explicit Exp(const caffe::LayerParameter& layer) {
    const caffe::ExpParameter& param = layer.exp_param();
    const double log_base = log_of_base(param.base(), "exp_param.base");
    a = static_cast<T>(log_base * param.shift());
    b = static_cast<T>(log_base * param.scale());
  }
  static SlopeFrom slope_from() { return SlopeFrom::kTop; }
  ROBUSTA_GPU T value(T x) const { return Math::exp(a + b * x); }
  ROBUSTA_GPU T slope(T y) const { return b * y; }

  T a, b;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Exp", Exp, ExpLayer);

}  // namespace robusta
