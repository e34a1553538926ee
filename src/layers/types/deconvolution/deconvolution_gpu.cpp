// Deconvolution on the GPU by matrix products and col2im.

#include "layers/backends/gpu/gemm_convolution_kernel.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_deconvolution_gpu(const KernelRequest& request, std::string& why_not) {
  return make_gemm_convolution_gpu(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Deconvolution", "gpu", 5, make_deconvolution_gpu);

}  // namespace robusta
