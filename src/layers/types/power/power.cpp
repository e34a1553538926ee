// Power: y = (shift + scale * x)^power.

#include "layers/types/power/power.h"

#include <cmath>

#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

template <typename T>
class PowerExact {
 public:
  explicit PowerExact(const KernelRequest& request)
      : power_(request.layer<PowerLayer>().power()),
        scale_(request.layer<PowerLayer>().scale()),
        shift_(request.layer<PowerLayer>().shift()),
        constant_(request.layer<PowerLayer>().constant()) {}
  SlopeFrom slope_from() const { return SlopeFrom::kBottom; }
  T value(T x) const { return constant_ ? std::pow(shift_, power_) : std::pow(shift_ + scale_ * x, power_); }
  // Never by way of y / x, which has no value at 0.
  T slope(T x) const { return constant_ ? 0 : power_ * scale_ * std::pow(shift_ + scale_ * x, power_ - 1); }

 private:
  T power_, scale_, shift_;
  bool constant_;
};

template <typename T>
using PowerReference = UnaryReference<T, PowerExact<T>>;

}  // namespace

ROBUSTA_REGISTER_LAYER("Power", PowerLayer);
ROBUSTA_REGISTER_REFERENCE("Power", PowerReference);

}  // namespace robusta
