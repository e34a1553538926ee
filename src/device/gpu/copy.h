/// Copies and zeros among the work of a kernel. For files named *_gpu.cpp.
///
/// A kernel does not append to its stream itself: emulated, it is a piece of the stream's work already, and what it
/// appended would run too late.
#pragma once

#include <cstring>

#include "device/device.h"
#include "device/gpu/calls.h"
#include "device/gpu/target.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// `to` and `from` do not overlap, unless they are equal: then nothing is done.
inline void gpu_copy(Stream* stream, void* to, const void* from, size_t bytes) {
  if (to == from || bytes == 0) return;
#ifdef __CUDACC__
  stream->copy(to, from, bytes);
#else
  const auto list = [=](KernelArrays& touched) {
    touched.add(static_cast<const char*>(from), static_cast<int64_t>(bytes));
    touched.add(static_cast<char*>(to), static_cast<int64_t>(bytes));
  };
  if (detail::runs_call(stream, 0, list)) std::memcpy(to, from, bytes);
#endif
}

inline void gpu_fill_zero(Stream* stream, void* to, size_t bytes) {
  if (bytes == 0) return;
#ifdef __CUDACC__
  stream->fill_zero(to, bytes);
#else
  const auto list = [=](KernelArrays& touched) { touched.add(static_cast<char*>(to), static_cast<int64_t>(bytes)); };
  if (detail::runs_call(stream, 0, list)) std::memset(to, 0, bytes);
#endif
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
