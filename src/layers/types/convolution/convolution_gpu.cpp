// Convolution on the GPU by im2col and matrix products: for what cuDNN does not take, and where the GPU is emulated.

#include "layers/backends/gpu/gemm_convolution_kernel.h"

namespace robusta {
namespace {

std::unique_ptr<Kernel> make_convolution_gpu(const KernelRequest& request, std::string& why_not) {
  return make_gemm_convolution_gpu(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Convolution", "gpu", 5, make_convolution_gpu);

}  // namespace robusta
