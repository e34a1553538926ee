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
  /// REQUIRES: a chain with a BatchNorm that is constant.
  explicit FoldedWeights(const FusedConvolution& chain);

  /// `params`: those of the chain.
  void refresh(std::span<Param* const> params);
  const void* weights() const { return weights_.data(); }
  const void* bias() const { return bias_.data(); }
  uint64_t version() const { return version_; }

 private:
  onednn::ChannelAffine affine_;
  bool has_bias_;
  int64_t outputs_, taps_;
  onednn::AlignedMemory weights_, bias_;
  uint64_t weights_version_ = 0, bias_version_ = 0, version_ = 0;
};

}  // namespace robusta
