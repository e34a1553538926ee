// Slice along the channels of blocked tensors, so that what follows a convolution can take its blocks.

#include "layers/backends/onednn/blocked_kernel.h"
#include "layers/types/slice/slice.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_slice_onednn(const KernelRequest& request, std::string& why_not) {
  return onednn::make_blocked<CutKernel>(request, request.bottoms[0], request.tops, request.layer<SliceLayer>().axis(),
                                         why_not);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Slice", "onednn", 20, make_slice_onednn);

}  // namespace robusta
