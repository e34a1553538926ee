/// What some GPUs do per second at best, as their makers say: for predictions (`caffe plan -traffic`).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace robusta {

struct GpuRates {
  const char *key, *name;              ///< as a flag has it; in words
  double tensor_16, tensor_tf32, f32;  ///< FLOP/s: bf16 and fp16 with sums in f32, TF32, f32 without such units
  double memory;                       ///< bytes/s
  size_t memory_bytes;
  double kernel_seconds = 2e-6;  ///< least time of a kernel in a CUDA graph, from its start to that of the next
};

/// What large products and loops over arrays reach of these, in ResNet-50 and VGG-16 on an H200 (docs/gpu.md).
inline constexpr double kReachedArithmetic = 0.55, kReachedMemory = 0.75;

std::span<const GpuRates> known_gpus();
/// Throws Error{kUsage} naming those that are known.
const GpuRates& gpu_rates(const std::string& key);

}  // namespace robusta
