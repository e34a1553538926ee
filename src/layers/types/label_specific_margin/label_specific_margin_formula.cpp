// LabelSpecificMargin: adds a margin to the angle whose cosine the score of the label is (Deng et al. 2018, "ArcFace:
// Additive Angular Margin Loss for Deep Face Recognition").
//
// As in happynear/caffe-windows before 2018 (label_specific_margin.cu): y = cos(acos x + m), or cos(m acos x) with type
// SOFT, m being margin_base + (1 + gamma batches)^power - 1, at most margin_max where that is given, in degrees for
// type HARD; in the TRAIN phase alone, whatever margin_on_test says. What the gradient is multiplied by is bounded to
// 0..2, and of type HARD it is that of caffe-windows, cos m - x / sqrt(1 - x^2) sin m, whose second term has not the
// sign of the derivative. Its parameter of one number is kept for its files; there it is the margin where no
// margin_base is given, here it has to be.

#include <cmath>

#include "layers/backends/label_specific.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

template <typename Math>
struct TurnOwn {
  using T = typename Math::T;
  static constexpr int kAmounts = 1;
  static constexpr int64_t kStatistic = 1;

  static void check(const caffe::LayerParameter& layer) {
    const auto& p = layer.label_specific_margin_param();
    require_finite_fields(p, "label_specific_margin_param");
    if (p.has_margin_base()) return;
    throw Error(ErrorKind::kConfig, "no margin_base is given", "give the margin of the first batch, in degrees")
        .in_field("label_specific_margin_param.margin_base");
  }
  static bool acts(const caffe::LayerParameter& layer) { return layer.phase() == caffe::TRAIN; }

  explicit TurnOwn(const caffe::LayerParameter& layer)
      : turns_by(layer.label_specific_margin_param().type() == caffe::LabelSpecificMarginParameter::HARD),
        has_most(layer.label_specific_margin_param().has_margin_max()),
        base(layer.label_specific_margin_param().margin_base()),
        most(layer.label_specific_margin_param().margin_max()),
        gamma(layer.label_specific_margin_param().gamma()),
        power(layer.label_specific_margin_param().power()),
        first(static_cast<T>(layer.label_specific_margin_param().iteration())) {}

  ROBUSTA_GPU void set(T batches, T* amounts) const {
    const T now = base + annealed<Math>(gamma, first + batches, power) - 1;
    amounts[0] = has_most && now > most ? most : now;
  }
  ROBUSTA_GPU T value(T x, bool own, const T* amounts) const {
    if (!own || amounts[0] == 0) return x;
    if (!turns_by) return std::cos(amounts[0] * soft_angle(x, amounts[0]));
    const T m = radians(amounts[0]), inner = bounded(x);
    return inner * std::cos(m) - sine(inner) * std::sin(m);
  }
  ROBUSTA_GPU T slope(T x, bool own, const T* amounts) const {
    if (!own || amounts[0] == 0) return 1;
    const T m = turns_by ? radians(amounts[0]) : amounts[0], inner = bounded(x);
    const T slope =
        turns_by ? std::cos(m) - inner / sine(inner) * std::sin(m) : m * std::sin(m * soft_angle(x, m)) / sine(inner);
    return slope > 2 ? T{2} : slope < 0 ? T{0} : slope;
  }

  bool turns_by;  ///< else the angle is multiplied
  bool has_most;
  T base, most, gamma, power, first;

 private:
  static constexpr T kPi = T{3.14159265358979323846};

  ROBUSTA_GPU static T radians(T degrees) { return degrees * (kPi / 180); }
  ROBUSTA_GPU static T sine(T x) { return Math::sqrt(1 - x * x); }
  /// Away from the ends, where the slope of an angle has none.
  ROBUSTA_GPU static T bounded(T x) {
    const T most = 1 - T{1e-4};
    return x > most ? most : x < -most ? -most : x;
  }
  /// The angle, or the largest one where m times it would be larger.
  ROBUSTA_GPU static T soft_angle(T x, T m) {
    const T angle = std::acos(x > 1 ? T{1} : x < -1 ? T{-1} : x), most = kPi - T{1e-4};
    return m * angle > most ? most : angle;
  }
};

}  // namespace

ROBUSTA_REGISTER_LABEL_SPECIFIC("LabelSpecificMargin", TurnOwn);

}  // namespace robusta
