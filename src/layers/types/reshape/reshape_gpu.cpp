// Reshape on the GPU: plain only, since channels last the elements of another shape would be in another order.

#include "layers/backends/gpu/alias.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_reshape_gpu(const KernelRequest& request, std::string&) {
  return make_gpu_alias(request, false);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Reshape", "gpu", 10, make_reshape_gpu);

}  // namespace robusta
