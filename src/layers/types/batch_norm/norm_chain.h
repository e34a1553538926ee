/// A BatchNorm and what may be computed with it: the Scale and the ReLU after it.
#pragma once

#include <string>

#include "layers/kit/kernel.h"
#include "layers/types/batch_norm/batch_norm.h"

namespace robusta {

/// The layers of a request for BatchNorm, BatchNorm+Scale, BatchNorm+ReLU or BatchNorm+Scale+ReLU, and where scale and
/// shift are among the parameters of the chain; -1: there is none.
struct NormChain {
  const BatchNormLayer* norm;
  const ChannelScale* scale = nullptr;
  const Rectifier* relu = nullptr;
  int scale_param = -1, shift_param = -1;

  explicit NormChain(const KernelRequest& request) : norm(&request.layer<BatchNormLayer>()) {
    for (size_t i = 1; i < request.layers.size(); ++i) {
      if (const auto* found = dynamic_cast<const ChannelScale*>(request.layers[i])) scale = found;
      if (const auto* found = dynamic_cast<const Rectifier*>(request.layers[i])) relu = found;
    }
    if (scale || norm->has_scale()) scale_param = 3;
    if (norm->has_scale() || (scale && scale->has_bias())) shift_param = 4;
  }

  /// Why these layers cannot be computed as one; "" when they can.
  std::string obstacle() const {
    if (!scale) return "";
    if (norm->has_scale()) return "the BatchNorm has a scale of its own";
    return scale->is_by_channel(norm->batch(), norm->channels()) ? "" : "the Scale is not by channel";
  }
};

}  // namespace robusta
