// Flatten on the GPU: plain only, since channels last the merged axis would be in another order.

#include "layers/backends/gpu/alias.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_flatten_gpu(const KernelRequest& request, std::string&) {
  return make_gpu_alias(request, false);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Flatten", "gpu", 10, make_flatten_gpu);

}  // namespace robusta
