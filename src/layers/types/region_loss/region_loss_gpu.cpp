// RegionLoss on the GPU (backends/gpu/anchor_loss.h).

#include "layers/backends/gpu/anchor_loss.h"
#include "layers/types/region_loss/region_loss.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_region_loss_gpu(const KernelRequest& request, std::string& why_not) {
  return make_anchor_loss_gpu<RegionRule>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("RegionLoss", "gpu", 10, make_region_loss_gpu);

}  // namespace robusta
