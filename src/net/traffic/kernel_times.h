/// How long a GPU that is described takes for a kernel, and why not less.
///
/// The roofline model (Williams, Waterman and Patterson 2009), kernel by kernel: a kernel takes as long as its
/// products, its memory traffic, or as it takes to begin one, whichever is longest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/described/gpu_rates.h"
#include "tensor/dtype.h"

namespace robusta {

/// What kernels do, summed up.
struct KernelTraffic {
  int64_t launches = 0;
  double bytes = 0;                                                       ///< read or written, as often as kernels do
  double flops = 0;                                                       ///< of convolutions and matrix products
  double arithmetic_seconds = 0, memory_seconds = 0, launch_seconds = 0;  ///< of kernels with this bound

  double seconds() const { return arithmetic_seconds + memory_seconds + launch_seconds; }
  /// What most of the time goes into.
  const char* bound() const {
    if (arithmetic_seconds >= std::max(memory_seconds, launch_seconds)) return "arithmetic";
    return memory_seconds >= launch_seconds ? "memory" : "launches";
  }
  KernelTraffic& operator+=(const KernelTraffic& other) {
    launches += other.launches;
    bytes += other.bytes;
    flops += other.flops;
    arithmetic_seconds += other.arithmetic_seconds;
    memory_seconds += other.memory_seconds;
    launch_seconds += other.launch_seconds;
    return *this;
  }
};

class KernelTimes {
 public:
  /// `tf32`: products in f32 are rounded to it.
  KernelTimes(const GpuRates& gpu, bool tf32) : gpu_(gpu), tf32_(tf32) {}
  const GpuRates& gpu() const { return gpu_; }

  /// One kernel, whose products have factors of this type.
  KernelTraffic of(double bytes, double flops, DType type) const {
    const double rate = is_16_bit(type) ? gpu_.tensor_16 : tf32_ ? gpu_.tensor_tf32 : gpu_.f32;
    const double arithmetic = flops / (rate * kReachedArithmetic), memory = bytes / (gpu_.memory * kReachedMemory);
    KernelTraffic traffic{.launches = 1, .bytes = bytes, .flops = flops};
    if (gpu_.kernel_seconds > std::max(arithmetic, memory)) {
      traffic.launch_seconds = gpu_.kernel_seconds;
    } else {
      (arithmetic > memory ? traffic.arithmetic_seconds : traffic.memory_seconds) = std::max(arithmetic, memory);
    }
    return traffic;
  }

 private:
  const GpuRates& gpu_;
  bool tf32_;
};

}  // namespace robusta
