/// How much a kernel may be given by value. For files named *_gpu.cpp.
#pragma once

#include <cstddef>

#include "device/gpu/target.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// 4 KB everywhere; nearly 32 KB (NVIDIA, "CUDA C++ Programming Guide", on kernel parameters) where the driver is sure
/// to take them: CUDA 13 runs on no older one, and on no GPU that cannot.
inline constexpr size_t kFewArguments = 4000;
#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ < 13
inline constexpr size_t kManyArguments = kFewArguments;
#else
inline constexpr size_t kManyArguments = 32000;
#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
