/// What this machine's cores and memory give at best: the two roofs that the speed of a layer is measured against.
#pragma once

namespace robusta {

/// Per second, of all threads that OpenMP would use. 0: the processor has no such instructions.
struct ProcessorPeaks {
  double f32 = 0;          ///< floating-point operations of multiply-adds in registers, each counted as two
  double avx512_bf16 = 0;  ///< the same of products of bf16 by vectors
  double amx_bf16 = 0;     ///< the same by matrix units
  double memory = 0;       ///< bytes

  /// The best for sums of products of bf16.
  double bf16() const;
};

/// Measures each for `seconds`, on this machine as busy as it is. The memory's rate takes 768 MiB, and is 0 where less
/// than a GiB is available.
ProcessorPeaks measure_peaks(double seconds);

}  // namespace robusta
