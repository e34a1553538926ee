/// The GPU's kernels of Eltwise. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/target.h"
#include "layers/kit/kernel.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// A sum, alone or with the ReLU after it. REQUIRES: a type that gpu_takes allows; a ReLU's slope of at least 0.
std::unique_ptr<Kernel> make_eltwise_sum_gpu(const KernelRequest& request);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
