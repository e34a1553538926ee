/// Matrix products in a GPU's memory: cuBLAS. For files named *_gpu.cpp.
#pragma once

#include "device/device.h"
#include "device/gpu/target.h"
#include "ops/gemm.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// C = alpha * op_a(A) * op_b(B) + beta * C, as gemm() in ops/gemm.h, enqueued on `stream`. `In` is float, BFloat16 or
/// Half, `Out` the same or float; sums are f32.
template <typename In, typename Out>
void gpu_gemm(Stream* stream, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const In* a, const In* b,
              float beta, Out* c);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
