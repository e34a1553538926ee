// Power with the exponents that need no call of pow: 1 (a linear map) and 2, for any layout.

#include "layers/kit/elementwise.h"
#include "layers/types/power/power.h"

namespace robusta {
namespace {

class Linear {
 public:
  explicit Linear(const KernelRequest& request)
      : scale_(request.layer<PowerLayer>().scale()), shift_(request.layer<PowerLayer>().shift()) {}
  SlopeFrom slope_from() const { return SlopeFrom::kNothing; }
  float value(float x) const { return shift_ + scale_ * x; }
  float slope(float) const { return scale_; }

 private:
  float scale_, shift_;
};

class Square {
 public:
  explicit Square(const KernelRequest& request)
      : scale_(request.layer<PowerLayer>().scale()), shift_(request.layer<PowerLayer>().shift()) {}
  SlopeFrom slope_from() const { return SlopeFrom::kBottom; }
  float value(float x) const {
    const float base = shift_ + scale_ * x;
    return base * base;
  }
  float slope(float x) const { return 2.0f * scale_ * (shift_ + scale_ * x); }

 private:
  float scale_, shift_;
};

std::unique_ptr<Kernel> make_power_native(const KernelRequest& request, std::string& why_not) {
  const PowerLayer& layer = request.layer<PowerLayer>();
  if (layer.power() == 1) return make_unary_native<Linear>(request, why_not);
  if (layer.power() == 2) return make_unary_native<Square>(request, why_not);
  why_not = "knows the exponents 1 and 2 only";
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Power", "native", 10, make_power_native);

}  // namespace robusta
