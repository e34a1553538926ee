/// The weights of a convolution on the host with a constant BatchNorm, and perhaps a Scale, in them:
/// y = (w x + b) * factor + shift.
#pragma once

#include <span>

#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/channel_affine.h"
#include "layers/types/convolution/fused_convolution.h"

namespace robusta {

/// Weights and bias with the BatchNorm inside, renewed when a parameter has changed.
class FoldedWeights {
 public:
  /// `passing`: whoever reads the weights keeps them in a form of its own, so that these need no memory from pass to
  /// pass. REQUIRES: a chain with a BatchNorm that is constant.
  FoldedWeights(const FusedConvolution& chain, bool passing);

  /// `params`: those of the chain. `scratch`: where passing weights go.
  void refresh(std::span<Param* const> params, void* scratch);
  /// Passing ones are there only when version() has changed in the last refresh.
  const void* weights() const { return to_; }
  const void* bias() const { return bias_.data(); }
  uint64_t version() const { return version_; }
  size_t scratch_bytes() const { return weights_ ? 0 : static_cast<size_t>(outputs_ * taps_) * sizeof(float); }
  size_t kept_bytes() const { return weights_.bytes() + bias_.bytes(); }

 private:
  onednn::ChannelAffine affine_;
  bool has_bias_;
  int64_t outputs_, taps_;
  onednn::AlignedMemory weights_, bias_;  // no weights where they are passing
  float* to_ = nullptr;                   // where they were written last
  const void* source_ = nullptr;
  uint64_t weights_version_ = 0, bias_version_ = 0, version_ = 0;
};

}  // namespace robusta
