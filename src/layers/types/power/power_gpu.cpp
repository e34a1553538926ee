// Power on the GPU, for any layout.

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/power/power.h"

namespace robusta {
namespace {

class PowerGpu {
 public:
  explicit PowerGpu(const KernelRequest& request)
      : power_(request.layer<PowerLayer>().power()),
        scale_(request.layer<PowerLayer>().constant() ? 0 : request.layer<PowerLayer>().scale()),
        shift_(request.layer<PowerLayer>().shift()) {}
  SlopeFrom slope_from() const { return scale_ == 0 || power_ == 1 ? SlopeFrom::kNothing : SlopeFrom::kBottom; }
  ROBUSTA_GPU float value(float x) const { return raised(scale_ == 0 ? shift_ : shift_ + scale_ * x, power_); }
  // Never by way of y / x, which has no value at 0.
  ROBUSTA_GPU float slope(float x) const {
    if (scale_ == 0) return 0;
    return power_ == 1 ? scale_ : power_ * scale_ * raised(shift_ + scale_ * x, power_ - 1);
  }

 private:
  /// The exponents of common use need no call of pow.
  static ROBUSTA_GPU float raised(float base, float power) {
    if (power == 1) return base;
    return power == 2 ? base * base : ::powf(base, power);
  }

  float power_, scale_, shift_;
};

std::unique_ptr<Kernel> make_power_gpu(const KernelRequest& request, std::string& why_not) {
  return make_unary_gpu<PowerGpu>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Power", "gpu", 10, make_power_gpu);

}  // namespace robusta
