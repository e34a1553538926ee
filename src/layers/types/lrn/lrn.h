/// LRN, local response normalisation (Krizhevsky, Sutskever, Hinton 2012, section 3.3): what its kernels share.
///
/// y = x * s^-beta. Across channels s = k + alpha / size * (sum of x^2 over `size` channels around); within a channel
/// s = 1 + alpha / size^2 * (sum of x^2 over a size x size window around), whatever k is, as in Caffe. What lies
/// outside of the tensor counts as zero, and still counts in the divisor.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class LrnLayer : public Layer {
 public:
  explicit LrnLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  bool across_channels() const { return param().lrn_param().norm_region() == caffe::LRNParameter::ACROSS_CHANNELS; }
  int64_t size() const { return param().lrn_param().local_size(); }
  float alpha() const { return param().lrn_param().alpha(); }
  float beta() const { return param().lrn_param().beta(); }
  float k() const { return across_channels() ? param().lrn_param().k() : 1.0f; }
};

}  // namespace robusta
