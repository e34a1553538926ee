/// Whether a convolution of the host pays in bf16.
///
/// Processors differ: matrix units (AMX) multiply many times as fast in bf16 as vectors do in f32, while vectors alone
/// (AVX512_BF16) may be no faster, and f32 has Winograd's algorithm. So it is measured, where anything is.
#pragma once

#include "layers/types/convolution/convolution_formats.h"

namespace robusta {

/// True where the processor multiplies bf16 numbers: elsewhere oneDNN widens them first, which is slower than f32.
bool computes_in_bf16();

/// True if all passes of the convolution take less time in f32 than as they are in `narrow`. Counted is what brings the
/// bottom from where its producer leaves it, and takes its gradient back. Without a tuner, or memory to
/// time them in, it is false.
bool is_faster_in_f32(const KernelRequest& request, FormattedConvolution& narrow);

}  // namespace robusta
