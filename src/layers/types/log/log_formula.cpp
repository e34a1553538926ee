// Log: y = log(shift + scale * x) / log(base), dy/dx = scale / (log(base) (shift + scale * x)).

#include "layers/backends/formula.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

class LogLayer : public ElementwiseLayer {
 public:
  explicit LogLayer(const caffe::LayerParameter& param) : ElementwiseLayer(param) {
    if (log_of_base(param.log_param().base(), "log_param.base") == 0) {
      throw Error(ErrorKind::kConfig, "there is no logarithm with base 1").in_field("log_param.base");
    }
    require_finite_fields(param.log_param(), "log_param");
  }
};

template <typename Math>
struct Log {
  using T = typename Math::T;
  explicit Log(const caffe::LayerParameter& layer)
      : scale(layer.log_param().scale()),
        shift(layer.log_param().shift()),
        of_base(static_cast<T>(1 / log_of_base(layer.log_param().base(), "log_param.base"))) {}
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return of_base * Math::log(shift + scale * x); }
  ROBUSTA_GPU T slope(T x) const { return of_base * scale / (shift + scale * x); }

  T scale, shift;
  T of_base;  ///< the logarithm of e with that base
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Log", Log, LogLayer);

}  // namespace robusta
