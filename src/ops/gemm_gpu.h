/// Matrix products in a GPU's memory: cuBLAS. For files named *_gpu.cpp.
#pragma once

#include "device/device.h"
#include "device/gpu/target.h"
#include "ops/gemm.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// C = alpha * op_a(A) * op_b(B) + beta * C, as gemm() in ops/gemm.h, enqueued on `stream`.
void gpu_gemm(Stream* stream, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
              const float* b, float beta, float* c);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
