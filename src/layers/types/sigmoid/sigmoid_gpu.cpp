// Sigmoid on the GPU, for any layout.

#include "layers/backends/gpu/elementwise.h"

namespace robusta {
namespace {

struct SigmoidGpu {
  explicit SigmoidGpu(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  ROBUSTA_GPU float value(float x) const { return 0.5f * ::tanhf(0.5f * x) + 0.5f; }
  ROBUSTA_GPU float slope(float y) const { return y * (1.0f - y); }
};

std::unique_ptr<Kernel> make_sigmoid_gpu(const KernelRequest& request, std::string& why_not) {
  return make_unary_gpu<SigmoidGpu>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Sigmoid", "gpu", 10, make_sigmoid_gpu);

}  // namespace robusta
