/// Numbers in a GPU's memory that only the host can complete: sums over ranks within a pass. For files named *_gpu.cpp.
#pragma once

#include <span>

#include "device/device.h"
#include "device/gpu/target.h"
#ifdef __CUDACC__
#include "device/cuda/cuda_stream.h"
#endif

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Calls change(values) on the host, after the work that `stream` has and before what follows; blocks until then.
/// `staging`: host memory for the values, which nobody touches until the stream is through; emulated, where `values`
/// are the host's already, it is not used.
template <typename Change>
void change_on_host(Stream* stream, double* values, std::span<double> staging, const Change& change) {
#ifdef __CUDACC__
  stream->copy_to_host(staging.data(), values, staging.size_bytes());
  stream->synchronize();
  change(staging);
  stream->copy_to_device(values, staging.data(), staging.size_bytes());
#else
  change(std::span<double>(values, staging.size()));
#endif
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
