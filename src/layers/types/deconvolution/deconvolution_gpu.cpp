// Deconvolution on the GPU by matrix products and col2im.

#include "layers/backends/gpu/gemm_convolution_kernel.h"

namespace robusta {

static constexpr auto make_deconvolution_gpu = make_gemm_convolution_gpu;
ROBUSTA_REGISTER_GPU_KERNEL("Deconvolution", "gpu", 5, make_deconvolution_gpu);

}  // namespace robusta
