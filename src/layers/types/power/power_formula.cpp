// Power: y = (shift + scale * x)^power. With power 0 or scale 0 it is constant, with power 1 linear, and then backward
// needs no value at all.

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct Power {
  using T = typename Math::T;
  explicit Power(const caffe::LayerParameter& layer)
      : power(layer.power_param().power()),
        scale(power == 0 ? 0 : layer.power_param().scale()),
        shift(layer.power_param().shift()) {}
  SlopeFrom slope_from() const { return linear() ? SlopeFrom::kNothing : SlopeFrom::kBottom; }
  bool vectorises() const { return power == 1 || power == 2; }
  ROBUSTA_GPU T value(T x) const { return Math::pow(scale == 0 ? shift : shift + scale * x, power); }
  // Never by way of y / x, which has no value at 0.
  ROBUSTA_GPU T slope(T x) const { return linear() ? scale : power * scale * Math::pow(shift + scale * x, power - 1); }
  ROBUSTA_GPU bool linear() const { return scale == 0 || power == 1; }

  T power, scale, shift;
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Power", Power);

}  // namespace robusta
