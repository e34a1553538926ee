// ELU on the GPU, for any layout.

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/elu/elu.h"

namespace robusta {
namespace {

class EluGpu {
 public:
  explicit EluGpu(const KernelRequest& request)
      : from_top_(request.layer<EluLayer>().sign_survives()),
        lambda_(request.layer<EluLayer>().lambda()),
        scale_(lambda_ * request.layer<EluLayer>().alpha()) {}
  SlopeFrom slope_from() const { return from_top_ ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  ROBUSTA_GPU float value(float x) const { return x > 0 ? lambda_ * x : scale_ * ::expm1f(x); }
  ROBUSTA_GPU float slope(float s) const {
    if (s > 0) return lambda_;
    return from_top_ ? s + scale_ : scale_ * ::expf(s);
  }

 private:
  bool from_top_;
  float lambda_, scale_;
};

std::unique_ptr<Kernel> make_elu_gpu(const KernelRequest& request, std::string& why_not) {
  return make_unary_gpu<EluGpu>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("ELU", "gpu", 10, make_elu_gpu);

}  // namespace robusta
