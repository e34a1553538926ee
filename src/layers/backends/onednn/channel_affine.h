/// BatchNorm on stored statistics, and a Scale after it, as y = x * factor + shift for each channel.
#pragma once

#include <vector>

#include "layers/kit/kernel.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/scale/scale.h"

namespace robusta::onednn {

/// REQUIRES: `scale` null or fits_channels(*scale, norm.channels()).
class ChannelAffine {
 public:
  ChannelAffine(const BatchNormLayer& norm, const ScaleLayer* scale);

  /// Recomputes both arrays when a parameter has moved; true if it did. `params`: those of the layers, in order.
  bool refresh(std::span<Param* const> params);

  const std::vector<float>& factor() const { return factor_; }
  const std::vector<float>& shift() const { return shift_; }

 private:
  bool scaled_, shifted_;
  float eps_;
  std::vector<float> factor_, shift_;
  std::vector<uint64_t> versions_;
  std::vector<const void*> sources_;
};

/// True if the layer scales by parameters along axis 1 of `channels` channels, with nothing else in the scale's shape.
bool fits_channels(const ScaleLayer& scale, int64_t batch, int64_t channels);

}  // namespace robusta::onednn
