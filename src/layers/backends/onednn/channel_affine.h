/// BatchNorm on stored statistics, and a Scale after it, as y = x * factor + shift for each channel.
#pragma once

#include <vector>

#include "layers/kit/kernel.h"
#include "layers/kit/roles.h"

namespace robusta::onednn {

/// REQUIRES: `scale` null, or by channel.
class ChannelAffine {
 public:
  ChannelAffine(const ChannelNorm& norm, const ChannelScale* scale);

  /// Recomputes both arrays when a parameter has moved; true if it did. `params`: those of the layers, in order.
  bool refresh(std::span<Param* const> params);

  const std::vector<float>& factor() const { return factor_; }
  const std::vector<float>& shift() const { return shift_; }

 private:
  bool scaled_, shifted_;
  NormEps eps_;
  std::vector<float> factor_, shift_;
  std::vector<uint64_t> versions_;  ///< of the parameters that factor_ and shift_ were made of
  std::vector<const void*> sources_;
};

}  // namespace robusta::onednn
