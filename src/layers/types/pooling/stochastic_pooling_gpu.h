/// The GPU's kernel of stochastic pooling. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/target.h"
#include "layers/kit/kernel.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// REQUIRES: a type that gpu_takes allows.
std::unique_ptr<Kernel> make_stochastic_pooling_gpu(const KernelRequest& request);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
