/// An Eltwise and the ReLU that may be computed with it, as at the end of a residual block (He et al., "Deep Residual
/// Learning for Image Recognition", 2015).
#pragma once

#include <string>

#include "layers/kit/chain.h"
#include "layers/kit/roles.h"
#include "layers/types/eltwise/eltwise.h"

namespace robusta {

struct EltwiseChain {
  Link<EltwiseLayer> eltwise;
  Link<Rectifier> relu;

  static const auto& pattern() {
    static const auto pattern = chain(of<EltwiseLayer>("Eltwise"), maybe<Rectifier>());
    return pattern;
  }

  explicit EltwiseChain(const KernelRequest& request) { std::tie(eltwise, relu) = pattern().links(request); }

  /// Why these layers cannot be computed as one; "" when they can.
  std::string obstacle() const {
    if (!relu) return "";
    if (!eltwise->is_sum()) return "only a sum is fused with the ReLU after it";
    return relu->sign_survives() ? "" : "a negative slope hides the sign of the sum from backward";
  }
};

}  // namespace robusta
