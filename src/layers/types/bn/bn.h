/// BN: the normalisation of channels (Ioffe and Szegedy 2015), with its scale and shift inside, of Caffes that have no
/// BatchNorm. Shared by its kernels.
///
/// Three of them have this name, and their fields tell them apart:
///   SegNet (alexgkendall/caffe-segnet): bn_mode. LEARN normalises by the batch in both phases and keeps no statistics;
///     in INFERENCE, y = scale x + shift, since a program of SegNet's has put the statistics into both.
///   PSPNet (hszhao/PSPNet, yjxiong/caffe): slope_filler, bias_filler, momentum, eps, frozen. Two more parameters are
///     running means: momentum * itself + (1 - momentum) * the batch's, by which TEST normalises. What is frozen does
///     so when training, too, and learns nothing.
///   caffe-windows (happynear/caffe-windows): var_eps, decay, moving_average. The same with decay = 1 - momentum;
///     without moving_average TEST normalises by the batch.
/// None corrects the variance of the batch for its size.
#pragma once

#include "layers/kit/channel_norm.h"
#include "layers/kit/fixed_shape.h"

namespace robusta {

/// Parameters: scale and shift, then, but for SegNet's, mean and variance; each 1 x channels x 1 x 1.
class BnLayer : public Layer {
 public:
  explicit BnLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    return (plan_.stored ? 2.0 : 5.0) * static_cast<double>(tops[0].count());
  }

  /// After infer_tops.
  const ChannelNormPlan& plan() const { return plan_; }

 private:
  bool has_statistics() const { return plan_.mean >= 0; }

  ChannelNormPlan plan_;
  FixedShape shape_;
  const char *scale_field_, *shift_field_;
  caffe::FillerParameter scale_filler_, shift_filler_, variance_filler_;
};

}  // namespace robusta
