// BN on the GPU, plain or channels last (backends/gpu/channel_norm.h).

#include "layers/backends/gpu/channel_norm.h"
#include "layers/types/bn/bn.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_bn_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<ChannelNormGpu>(request, request.layer<BnLayer>().plan(), 1.0f);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("BN", "gpu", 10, make_bn_gpu);

}  // namespace robusta
