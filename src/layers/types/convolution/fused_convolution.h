/// A convolution and what one kernel may compute with it: a constant BatchNorm and its Scale, the sum at the end of a
/// residual block (He et al. 2015, "Deep Residual Learning for Image Recognition"), a ReLU. What of that holds on every
/// device.
#pragma once

#include <string>
#include <tuple>

#include "layers/kit/chain.h"
#include "layers/kit/roles.h"
#include "layers/types/convolution/convolution.h"

namespace robusta {

struct FusedConvolution {
  Link<ConvolutionLayer> convolution;
  Link<ChannelNorm> norm;
  Link<ChannelScale> scale;
  Link<Joint> joint;
  Link<Rectifier> relu;

  static const auto& pattern() {
    static const auto pattern = chain(of<ConvolutionLayer>("Convolution"), maybe<ChannelNorm>(),
                                      maybe_then<ChannelScale>(), joining(maybe<Joint>()), maybe<Rectifier>());
    return pattern;
  }

  explicit FusedConvolution(const KernelRequest& request) {
    std::tie(convolution, norm, scale, joint, relu) = pattern().links(request);
  }

  /// Whether a bias is added, be it the BatchNorm's.
  bool has_bias() const { return convolution->has_bias() || bool{norm}; }
  /// Why what follows the convolution cannot be computed with it; "" if it can. A sum's other term is the request's
  /// second bottom then.
  std::string objection(const KernelRequest& request) const;

 private:
  std::string objection_to_sum(const KernelRequest& request) const;
  std::string objection_to_norm(const KernelRequest& request) const;
};

inline std::string FusedConvolution::objection(const KernelRequest& request) const {
  if (relu && !relu->sign_survives()) return "a negative slope hides the sign";
  if (joint) {
    if (std::string why_not = objection_to_sum(request); !why_not.empty()) return why_not;
  }
  return norm ? objection_to_norm(request) : "";
}

inline std::string FusedConvolution::objection_to_sum(const KernelRequest& request) const {
  if (request.backward) return "adds only where nothing runs backward";
  if (!joint->is_sum() || joint->coeff(0) != 1 || joint->coeff(1) != 1) {
    return "only a sum without coefficients is fused";
  }
  if (request.bottoms.size() != 2) return "only a sum of two is fused";
  return request.bottoms[1].shape == request.tops[0].shape ? "" : "the terms differ in shape";
}

inline std::string FusedConvolution::objection_to_norm(const KernelRequest& request) const {
  const ConvolutionGeometry& geometry = convolution->geometry();
  if (request.backward || !norm->uses_global_stats()) return "folds a BatchNorm only where it is constant";
  if (norm->channels() != geometry.num_output) return "the BatchNorm has other channels";
  if (scale && norm->has_scale()) return "the BatchNorm has a scale of its own";
  if (scale && !scale->is_by_channel(geometry.batch, geometry.num_output)) return "the Scale is not by channel";
  return "";
}

}  // namespace robusta
