/// A BatchNorm and what may be computed with it: the Scale and the ReLU after it.
#pragma once

#include <string>

#include "layers/kit/chain.h"
#include "layers/kit/roles.h"
#include "layers/types/batch_norm/batch_norm.h"

namespace robusta {

/// The links of such a chain, and where scale and shift are among its parameters; -1: there is none.
struct NormChain {
  Link<BatchNormLayer> norm;
  Link<ChannelScale> scale;
  Link<Rectifier> relu;
  int scale_param = -1, shift_param = -1;

  static const auto& pattern() {
    static const auto pattern = chain(of<BatchNormLayer>("BatchNorm"), maybe<ChannelScale>(), maybe<Rectifier>());
    return pattern;
  }

  explicit NormChain(const KernelRequest& request) {
    std::tie(norm, scale, relu) = pattern().links(request);
    if (norm->has_scale()) {
      scale_param = norm.param(3);
      shift_param = norm.param(4);
    } else if (scale) {
      scale_param = scale.param(0);
      if (scale->has_bias()) shift_param = scale.param(1);
    }
  }

  /// Why these layers cannot be computed as one; "" when they can.
  std::string obstacle() const {
    if (!scale) return "";
    if (norm->has_scale()) return "the BatchNorm has a scale of its own";
    return scale->is_by_channel(norm->batch(), norm->channels()) ? "" : "the Scale is not by channel";
  }
};

}  // namespace robusta
