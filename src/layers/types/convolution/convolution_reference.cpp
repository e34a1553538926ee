// Convolution: the reference kernel, and the one of a part of it.

#include "layers/kit/gemm_convolution_kernel.h"
#include "layers/types/convolution/convolution.h"
#include "layers/types/convolution/convolution_parts.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_convolution_reference(const KernelRequest& request, std::string& why_not) {
  if (request.layer<ConvolutionLayer>().group()) return make_convolution_parts(request, "reference", why_not);
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<GemmConvolutionKernel<decltype(t)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Convolution", "reference", 0, make_convolution_reference);

}  // namespace robusta
