// Power: y = (shift + scale * x)^power. With power 0 or scale 0 it is constant, with power 1 linear, and then backward
// needs no value at all.

#include <cmath>

#include "layers/backends/formula.h"
#include "layers/kit/in_place.h"

namespace robusta {
namespace {

class PowerLayer : public ElementwiseLayer, public LeavesContent {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  Content leaves() const override {
    const caffe::PowerParameter& power = param().power_param();
    if (power.power() != 1 || power.shift() != 0 || !(power.scale() > 0)) return Content::kNothing;
    return power.scale() == 1 ? Content::kAll : Content::kSigns;
  }
};

template <typename Math>
struct Line {
  using T = typename Math::T;
  T scale, shift;
  // Not 0 * x, which is no number for all x.
  ROBUSTA_GPU T value(T x) const { return Math::select(scale == 0, shift, shift + scale * x); }
  ROBUSTA_GPU T slope(T) const { return scale; }
};

template <typename Math>
struct SquareOfLine {
  using T = typename Math::T;
  T scale, shift;
  ROBUSTA_GPU T value(T x) const { return (shift + scale * x) * (shift + scale * x); }
  ROBUSTA_GPU T slope(T x) const { return 2 * scale * (shift + scale * x); }
};

template <typename Math>
struct PowerOfLine {
  using T = typename Math::T;
  T power, scale, shift;
  ROBUSTA_GPU T value(T x) const { return Math::pow(shift + scale * x, power); }
  // Never by way of y / x, which has no value at 0.
  ROBUSTA_GPU T slope(T x) const { return power * scale * Math::pow(shift + scale * x, power - 1); }
};

template <typename Math>
struct Power {
  using T = typename Math::T;
  explicit Power(const caffe::LayerParameter& layer)
      : general{layer.power_param().power(), layer.power_param().scale(), layer.power_param().shift()},
        square{general.scale, general.shift},
        line{general.power == 0 ? 0 : general.scale,
             static_cast<T>(std::pow(static_cast<double>(general.shift), static_cast<double>(general.power)))} {}
  SlopeFrom slope_from() const { return linear() ? SlopeFrom::kNothing : SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return linear() ? line.value(x) : squared() ? square.value(x) : general.value(x); }
  ROBUSTA_GPU T slope(T x) const { return linear() ? line.slope(x) : squared() ? square.slope(x) : general.slope(x); }

  template <typename Body>
  void with_branchless(const Body& body) const {
    if (linear()) return body(line);
    if (squared()) return body(square);
    body(general);
  }

  ROBUSTA_GPU bool linear() const { return line.scale == 0 || general.power == 1; }
  ROBUSTA_GPU bool squared() const { return general.power == 2; }

  PowerOfLine<Math> general;
  SquareOfLine<Math> square;
  Line<Math> line;  ///< for power 1; else a constant, where scale or power is 0
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Power", Power, PowerLayer);

}  // namespace robusta
