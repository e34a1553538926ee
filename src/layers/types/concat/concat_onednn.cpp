// Concat along the channels of blocked tensors, so that the blocks of a convolution need not be reordered for it.

#include "layers/backends/onednn/blocked_kernel.h"
#include "layers/types/concat/concat.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_concat_onednn(const KernelRequest& request, std::string& why_not) {
  return onednn::make_blocked<JoinKernel>(request, request.tops[0], request.bottoms,
                                          request.layer<ConcatLayer>().axis(), why_not);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Concat", "onednn", 20, make_concat_onednn);

}  // namespace robusta
