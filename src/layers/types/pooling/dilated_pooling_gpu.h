/// Pooling with dilation on the GPU. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/target.h"
#include "layers/kit/kernel.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// REQUIRES: a request for a PoolingLayer that is MAX or AVE.
std::unique_ptr<Kernel> make_dilated_pooling_gpu(const KernelRequest& request);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
