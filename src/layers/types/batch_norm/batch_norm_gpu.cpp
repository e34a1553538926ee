// BatchNorm on the GPU, plain or channels last, alone or with the Scale, the sum of a residual block and the ReLU after
// it (backends/gpu/channel_norm.h).

#include "layers/backends/gpu/channel_norm.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/batch_norm/norm_chain.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_kernel(const KernelRequest& request, const NormChain& chain, std::string& why_not) {
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  ChannelNormPlan plan = chain.norm->plan();
  plan.scale = chain.scale_param;
  plan.shift = chain.shift_param;
  return make_stored<ChannelNormGpu>(request, plan, chain.relu ? chain.relu->slope() : 1.0f);
}

std::unique_ptr<Kernel> make_batch_norm_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_kernel(request, NormChain(request), why_not);
}

std::unique_ptr<Kernel> make_joined_norm_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.backward && !(request.bottom_grads[0] && request.bottom_grads[1])) {
    why_not = "hands gradients to both of its bottoms";
    return nullptr;
  }
  return make_kernel(request, NormChain(request, true), why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(NormChain::pattern(), "gpu", 10, make_batch_norm_gpu);
ROBUSTA_REGISTER_GPU_KERNEL(NormChain::joined_pattern(), "gpu", 10, make_joined_norm_gpu);

}  // namespace robusta
