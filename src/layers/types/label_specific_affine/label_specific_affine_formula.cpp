// LabelSpecificAffine: scales, raises and shifts the angle of the label: margins of the angle (Liu et al. 2017,
// "SphereFace"; Deng et al. 2018, "ArcFace").
//
// As in happynear/caffe-windows before 2018 (label_specific_affine.cpp): y = scale pi^(1 - power) x^power + bias, not
// above pi - 1e-4, in the TRAIN phase alone, whatever transform_test says; the gradient passes the bound. All three are
// annealed over the batches. Its parameter of three numbers, which auto_tune alone would read, is kept for its files.

#include "layers/backends/label_specific.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

template <typename Math>
struct AffineOwn {
  using T = typename Math::T;
  static constexpr int kAmounts = 3;
  static constexpr int64_t kStatistic = 3;

  static void check(const caffe::LayerParameter& layer) {
    require_finite_fields(layer.label_specific_affine_param(), "label_specific_affine_param");
  }
  static bool acts(const caffe::LayerParameter& layer) { return layer.phase() == caffe::TRAIN; }

  explicit AffineOwn(const caffe::LayerParameter& layer) : AffineOwn(layer.label_specific_affine_param()) {
    trains = layer.phase() == caffe::TRAIN;
  }

  ROBUSTA_GPU void set(T batches, T* amounts) const {
    const T now = first + batches;
    const T scale = scale_base * annealed<Math>(scale_gamma, now, scale_power);
    const T bias = bias_base + annealed<Math>(bias_gamma, now, bias_power) - 1;
    const T power = power_base * annealed<Math>(power_gamma, now, power_power);
    amounts[0] = !trains ? T{1} : scale > scale_max ? scale_max : scale;
    amounts[1] = !trains ? T{0} : bias > bias_max ? bias_max : bias;
    amounts[2] = !trains ? T{1} : power < power_min ? power_min : power;
  }
  ROBUSTA_GPU T value(T x, bool own, const T* amounts) const {
    if (!own) return x;
    const T y = factor(amounts) * Math::pow(x, amounts[2]) + amounts[1], most = kPi - T{1e-4};
    return y > most ? most : y;
  }
  ROBUSTA_GPU T slope(T x, bool own, const T* amounts) const {
    return own ? factor(amounts) * amounts[2] * Math::pow(x, amounts[2] - 1) : T{1};
  }

  bool trains = false;
  T scale_base, scale_gamma, scale_power, scale_max, bias_base, bias_gamma, bias_power, bias_max, power_base,
      power_gamma, power_power, power_min, first;

 private:
  static constexpr T kPi = T{3.14159265358979323846};

  explicit AffineOwn(const caffe::LabelSpecificAffineParameter& p)
      : scale_base(p.scale_base()),
        scale_gamma(p.scale_gamma()),
        scale_power(p.scale_power()),
        scale_max(p.scale_max()),
        bias_base(p.bias_base()),
        bias_gamma(p.bias_gamma()),
        bias_power(p.bias_power()),
        bias_max(p.bias_max()),
        power_base(p.power_base()),
        power_gamma(p.power_gamma()),
        power_power(p.power_power()),
        power_min(p.power_min()),
        first(static_cast<T>(p.iteration())) {}

  ROBUSTA_GPU static T factor(const T* amounts) { return amounts[0] * Math::pow(kPi, 1 - amounts[2]); }
};

}  // namespace

ROBUSTA_REGISTER_LABEL_SPECIFIC("LabelSpecificAffine", AffineOwn);

}  // namespace robusta
