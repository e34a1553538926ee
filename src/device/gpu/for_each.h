/// Runs a body for each index of a range, on a stream. For files named *_gpu.cpp (target.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/gpu/launch.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

#ifdef ROBUSTA_GPU_KERNELS

template <typename Body>
__global__ void for_each_kernel(int64_t count, const Body body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

/// Calls body(i) for 0 <= i < count, in any order. `Body` is a small struct of pointers and numbers whose call operator
/// is ROBUSTA_GPU and const.
template <typename Body>
void for_each(Stream* stream, int64_t count, const Body& body) {
  if (count <= 0) return;
  constexpr int kThreads = 256;
  constexpr int64_t kMostBlocks = 1 << 16;
  launch(for_each_kernel<Body>, std::min((count + kThreads - 1) / kThreads, kMostBlocks), kThreads, stream, count,
         body);
}

#else

template <typename Body>
void for_each(Stream* stream, int64_t count, const Body& body) {
  if (count <= 0 || !detail::runs(stream, body, count)) return;
  for (int64_t i = 0; i < count; ++i) body(i);
}

#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
