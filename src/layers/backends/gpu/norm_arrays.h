/// What normalising on the GPU needs of each channel, alone or with the Scale and ReLU after it. For files named
/// *_gpu.cpp.
///
/// Memory traffic is all that counts: forward reads x twice and writes y, backward reads x and dy twice and writes dx.
/// The ReLU's mask is computed from x again.
#pragma once

#include "layers/backends/gpu/channels.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Results of a ReLU of which a byte says which are above 0, one bit each from the lowest on: as many as there are in
/// the narrowest pack.
inline constexpr int kSignsPerByte = 4;

/// NormArrays for N neighbouring elements.
template <int N>
struct NormPack {
  Pack<float, N> mean, factor, shift;
  float slope;
  ROBUSTA_GPU float value(float x, int k) const { return (x - mean.at[k]) * factor.at[k] + shift.at[k]; }
  ROBUSTA_GPU float gain(float v) const { return v > 0 ? 1.0f : slope; }
};

/// What normalising needs of each channel: v = (x - mean) * factor + shift, then y = v or, if that is not positive,
/// slope * v; slope 1: no ReLU. factor = inverse * scale.
struct NormArrays {
  float *mean, *inverse, *factor, *shift;  ///< one number per channel
  float slope;
  bool in_packs() const { return on_packs(mean, inverse, factor, shift); }
  template <int N, bool kAcross>
  ROBUSTA_GPU NormPack<N> of(Channels<N, kAcross> channels) const {
    return {channels.of(mean), channels.of(factor), channels.of(shift), slope};
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
