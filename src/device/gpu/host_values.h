/// Numbers that GPU and host make together within a pass: sums over ranks, choices that only the host makes. For files
/// named *_gpu.cpp.
#pragma once

#include <cstring>
#include <span>

#include "device/device.h"
#include "device/gpu/calls.h"
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
  const auto list = [=](KernelArrays& touched) { touched.add(values, static_cast<int64_t>(staging.size()), 2); };
  if (detail::runs_call(stream, 0, list)) change(std::span<double>(values, staging.size()));
#endif
}

/// Appends a copy to host memory, which is there after wait_for_copies, and one of what is in host memory when it runs.
inline void copy_to_host(Stream* stream, void* to_host, const void* from, size_t bytes) {
#ifdef __CUDACC__
  stream->copy_to_host(to_host, from, bytes);
#else
  const auto list = [=](KernelArrays& touched) {
    touched.add(static_cast<const char*>(from), static_cast<int64_t>(bytes));
  };
  if (detail::runs_call(stream, 0, list)) std::memcpy(to_host, from, bytes);
#endif
}

inline void copy_from_host(Stream* stream, void* to, const void* from_host, size_t bytes) {
#ifdef __CUDACC__
  stream->copy_to_device(to, from_host, bytes);
#else
  const auto list = [=](KernelArrays& touched) { touched.add(static_cast<char*>(to), static_cast<int64_t>(bytes)); };
  if (detail::runs_call(stream, 0, list)) std::memcpy(to, from_host, bytes);
#endif
}

/// Emulated, copies have been made at once.
inline void wait_for_copies(Stream* stream) {
#ifdef __CUDACC__
  stream->synchronize();
#endif
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
