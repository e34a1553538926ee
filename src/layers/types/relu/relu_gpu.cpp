// ReLU on the GPU, for any layout.

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/relu/relu.h"

namespace robusta {
namespace {

class ReluGpu {
 public:
  explicit ReluGpu(const KernelRequest& request) : slope_(request.layer<ReluLayer>().slope()) {}
  SlopeFrom slope_from() const { return slope_ >= 0 ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  ROBUSTA_GPU float value(float x) const { return x > 0 ? x : slope_ * x; }
  ROBUSTA_GPU float slope(float s) const { return s > 0 ? 1.0f : slope_; }

 private:
  float slope_;
};

std::unique_ptr<Kernel> make_relu_gpu(const KernelRequest& request, std::string& why_not) {
  return make_unary_gpu<ReluGpu>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("ReLU", "gpu", 10, make_relu_gpu);

}  // namespace robusta
