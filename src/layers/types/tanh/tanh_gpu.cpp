// TanH on the GPU, for any layout.

#include "layers/backends/gpu/elementwise.h"

namespace robusta {
namespace {

struct TanhGpu {
  explicit TanhGpu(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  ROBUSTA_GPU float value(float x) const { return ::tanhf(x); }
  ROBUSTA_GPU float slope(float y) const { return 1.0f - y * y; }
};

std::unique_ptr<Kernel> make_tanh_gpu(const KernelRequest& request, std::string& why_not) {
  return make_unary_gpu<TanhGpu>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("TanH", "gpu", 10, make_tanh_gpu);

}  // namespace robusta
