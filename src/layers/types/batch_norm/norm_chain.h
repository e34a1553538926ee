/// A BatchNorm and what may be computed with it: the Scale and the ReLU after it, and between these two the sum at the
/// end of a residual block.
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
  Link<Joint> joint;
  Link<Rectifier> relu;
  int scale_param = -1, shift_param = -1;
  size_t bottoms;  ///< of all

  static const auto& pattern() {
    static const auto pattern = chain(of<BatchNormLayer>("BatchNorm"), maybe<ChannelScale>(), maybe<Rectifier>());
    return pattern;
  }

  static const auto& joined_pattern() {
    static const auto pattern =
        chain(of<BatchNormLayer>("BatchNorm"), maybe<ChannelScale>(), joining(one<Joint>()), maybe<Rectifier>());
    return pattern;
  }

  explicit NormChain(const KernelRequest& request, bool joined = false) : bottoms(request.bottoms.size()) {
    if (joined) {
      std::tie(norm, scale, joint, relu) = joined_pattern().links(request);
    } else {
      std::tie(norm, scale, relu) = pattern().links(request);
    }
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
    if (joint) {
      const std::string why_not = obstacle_to_joint();
      if (!why_not.empty()) return why_not;
    }
    if (!scale) return "";
    if (norm->has_scale()) return "the BatchNorm has a scale of its own";
    return scale->is_by_channel(norm->batch(), norm->channels()) ? "" : "the Scale is not by channel";
  }

 private:
  std::string obstacle_to_joint() const {
    if (!joint->is_sum()) return "only a sum is fused with the BatchNorm before it";
    if (bottoms != 2) return "only a sum of two is fused with the BatchNorm before it";
    if (joint->coeff(0) != 1 || joint->coeff(1) != 1) return "only a sum without coefficients is fused";
    if (relu && !relu->sign_survives()) return "a negative slope hides the sign of the sum from backward";
    return "";
  }
};

}  // namespace robusta
