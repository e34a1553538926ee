// LabelSpecificAdd: adds to the score of the label: a negative bias is the margin of AM-Softmax (Wang, Cheng, Liu, Liu
// 2018, "Additive Margin Softmax for Face Verification").
//
// As in happynear/caffe-windows (label_specific_add.cpp): y = x + bias where x > -bias, in the TRAIN phase alone,
// whatever transform_test says; the gradient passes. With bias_base the bias is annealed over the batches and clipped
// to bias_min..bias_max.

#include "layers/backends/label_specific.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

template <typename Math>
struct AddToOwn {
  using T = typename Math::T;
  static constexpr int kAmounts = 1;
  static constexpr int64_t kStatistic = 0;

  static void check(const caffe::LayerParameter& layer) {
    require_finite_fields(layer.label_specific_add_param(), "label_specific_add_param");
  }
  static bool acts(const caffe::LayerParameter& layer) { return layer.phase() == caffe::TRAIN; }

  explicit AddToOwn(const caffe::LayerParameter& layer)
      : anneals(layer.label_specific_add_param().has_bias_base()),
        bias(layer.label_specific_add_param().bias()),
        base(layer.label_specific_add_param().bias_base()),
        gamma(layer.label_specific_add_param().bias_gamma()),
        power(layer.label_specific_add_param().bias_power()),
        least(layer.label_specific_add_param().bias_min()),
        most(layer.label_specific_add_param().bias_max()),
        first(static_cast<T>(layer.label_specific_add_param().iteration())) {}

  ROBUSTA_GPU void set(T batches, T* amounts) const {
    T now = anneals ? base + annealed<Math>(gamma, first + batches, power) - 1 : bias;
    if (anneals && now < least) now = least;
    if (anneals && now > most) now = most;
    amounts[0] = now;
  }
  ROBUSTA_GPU T value(T x, bool own, const T* amounts) const { return own && x > -amounts[0] ? x + amounts[0] : x; }
  ROBUSTA_GPU T slope(T, bool, const T*) const { return 1; }

  bool anneals;
  T bias, base, gamma, power, least, most, first;
};

}  // namespace

ROBUSTA_REGISTER_LABEL_SPECIFIC("LabelSpecificAdd", AddToOwn);

}  // namespace robusta
