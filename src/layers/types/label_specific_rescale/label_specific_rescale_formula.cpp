// LabelSpecificRescale: multiplies the score of the label by one weight, and all others by another.
//
// As in happynear/caffe-windows before 2018 (label_specific_rescale.cpp): y = positive_weight x, plus 1 -
// positive_weight with bias_fix; with power_on_positive sign(x) |x|^positive_weight; with for_ip scores of labels below
// 0 stay. In the TRAIN phase, and in TEST with rescale_test. With positive_weight_base the weight is annealed over the
// batches of the TRAIN phase.

#include "layers/backends/label_specific.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

template <typename Math>
struct RescaleOwn {
  using T = typename Math::T;
  static constexpr int kAmounts = 1;
  static constexpr int64_t kStatistic = 0;

  static void check(const caffe::LayerParameter& layer) {
    require_finite_fields(layer.label_specific_rescale_param(), "label_specific_rescale_param");
  }
  static bool acts(const caffe::LayerParameter& layer) {
    return layer.phase() == caffe::TRAIN || layer.label_specific_rescale_param().rescale_test();
  }

  explicit RescaleOwn(const caffe::LayerParameter& layer) : RescaleOwn(layer.label_specific_rescale_param()) {
    anneals = anneals && layer.phase() == caffe::TRAIN;
  }

  ROBUSTA_GPU void set(T batches, T* amounts) const {
    T now = anneals ? base * annealed<Math>(gamma, first + batches + 1, -power) : weight;
    if (anneals && has_least && now < least) now = least;
    if (anneals && has_most && now > most) now = most;
    amounts[0] = now;
  }
  ROBUSTA_GPU T value(T x, bool own, const T* amounts) const {
    if (!own) return others * x;
    if (stays(x)) return x;
    const T w = amounts[0];
    if (by_power) return (x < 0 ? -1 : 1) * Math::pow(Math::abs(x), w);
    return w * x + (shifts ? 1 - w : T{0});
  }
  ROBUSTA_GPU T slope(T x, bool own, const T* amounts) const {
    if (!own) return others;
    if (stays(x)) return 1;
    const T w = amounts[0];
    return by_power ? w * Math::pow(Math::abs(x), w - 1) : w;
  }

  bool anneals, has_least, has_most, positive_alone, shifts, by_power;
  T weight, others, base, gamma, power, least, most, first;

 private:
  explicit RescaleOwn(const caffe::LabelSpecificRescaleParameter& p)
      : anneals(p.has_positive_weight_base()),
        has_least(p.has_positive_weight_min()),
        has_most(p.has_positive_weight_max()),
        positive_alone(p.for_ip()),
        shifts(p.bias_fix()),
        by_power(p.power_on_positive()),
        weight(p.positive_weight()),
        others(p.negative_weight()),
        base(p.positive_weight_base()),
        gamma(p.gamma()),
        power(p.power()),
        least(p.positive_weight_min()),
        most(p.positive_weight_max()),
        first(static_cast<T>(p.iteration())) {}

  ROBUSTA_GPU bool stays(T x) const { return positive_alone && !(x > 0); }
};

}  // namespace

ROBUSTA_REGISTER_LABEL_SPECIFIC("LabelSpecificRescale", RescaleOwn);

}  // namespace robusta
