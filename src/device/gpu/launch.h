/// Launches a kernel, where there is a GPU. For the primitives beside this file.
///
/// With ROBUSTA_GPU_THREADS the kernels themselves run on the host, block by block, with a thread of the host for each
/// of a block's (tests/support/gpu_threads.h): so the primitives' own halves for the GPU are tested without one.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "device/gpu/calls.h"
#include "device/gpu/target.h"
#ifdef __CUDACC__
#include "device/cuda/cuda_stream.h"
#elif defined(ROBUSTA_CUDA_CALLER)
#error "kernels are launched by files named *_gpu.cpp"
#endif

#if defined(__CUDACC__) || defined(ROBUSTA_GPU_THREADS)
#define ROBUSTA_GPU_KERNELS
#endif

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Counters by which the blocks of a kernel find out which of them comes last. The stream has them, for its kernels run
/// one after the other; between two of these all are 0. Few for threads of the host, so that tests have too few.
#ifdef ROBUSTA_GPU_THREADS
inline constexpr int64_t kArrivals = 40;
#else
inline constexpr int64_t kArrivals = 1 << 14;
#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

#ifdef __CUDACC__
namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

inline unsigned* arrivals(Stream* stream) {
  return static_cast<CudaStream*>(stream)->counters(kArrivals * sizeof(unsigned));
}

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, Stream* stream, const Arguments&... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, cuda_stream(stream)>>>(arguments...);
  check_launch();
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
#endif
