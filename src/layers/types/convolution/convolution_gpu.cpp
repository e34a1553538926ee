// Convolution on the GPU by im2col and matrix products: for what cuDNN does not take, and where the GPU is emulated.

#include "layers/backends/gpu/gemm_convolution_kernel.h"

namespace robusta {

static constexpr auto make_convolution_gpu = make_gemm_convolution_gpu;
ROBUSTA_REGISTER_GPU_KERNEL("Convolution", "gpu", 5, make_convolution_gpu);

}  // namespace robusta
