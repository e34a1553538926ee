// Squeeze on the GPU: plain only, since channels last the axes that stay would be in another order.

#include "layers/backends/gpu/alias.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_squeeze_gpu(const KernelRequest& request, std::string&) {
  return make_gpu_alias(request, false);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Squeeze", "gpu", 10, make_squeeze_gpu);

}  // namespace robusta
