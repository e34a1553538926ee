// BatchNorm on the GPU, plain or channels last, alone or with the Scale and ReLU after it
// (backends/gpu/channel_norm.h).

#include "layers/backends/gpu/channel_norm.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/batch_norm/norm_chain.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_batch_norm_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const NormChain chain(request);
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  ChannelNormPlan plan = chain.norm->plan();
  plan.scale = chain.scale_param;
  plan.shift = chain.shift_param;
  return make_stored<ChannelNormGpu>(request, plan, chain.relu ? chain.relu->slope() : 1.0f);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(NormChain::pattern(), "gpu", 10, make_batch_norm_gpu);

}  // namespace robusta
