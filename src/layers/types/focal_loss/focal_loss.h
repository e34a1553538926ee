/// FocalLoss: a softmax loss that weighs easy examples less (Lin et al. 2017, "Focal Loss for Dense Object Detection").
/// Shared by its kernels.
///
///   L = - sum over positions of (alpha - p)^gamma log p / divisor, p being the softmax of the right class
///
/// As in happynear/caffe-windows (focal_loss_layer.cpp), whose type ONEADDP has alpha + p in place of alpha - p and
/// whose LINEAR is ORIGIN. There the gradient is that of the loss for alpha 1 alone, here it always is. The axis is
/// softmax_param's, labels and divisor are those of SoftmaxWithLoss.
#pragma once

#include <cfloat>

#include "layers/kit/softmax_loss.h"

namespace robusta {

class FocalLossLayer : public SoftmaxLossLayer {
 public:
  explicit FocalLossLayer(const caffe::LayerParameter& param);
};

/// Of the probability p of the right class.
template <typename Math>
struct FocalCost {
  using T = typename Math::T;
  explicit FocalCost(const caffe::LayerParameter& layer)
      : sign(layer.focal_loss_param().type() == caffe::FocalLossParameter::ONEADDP ? T{1} : T{-1}),
        alpha(layer.focal_loss_param().alpha()),
        gamma(layer.focal_loss_param().gamma()) {}

  ROBUSTA_HOST_DEVICE T value(T p) const { return -Math::pow(base(p), gamma) * log_of(p); }
  /// What the gradient of the score of class c is p_c - (c is the right one) times: the derivative by p, times -p.
  ROBUSTA_HOST_DEVICE T factor(T p) const {
    const T b = base(p), power = Math::pow(b, gamma);
    return power + sign * gamma * power / (b < T{1e-10} ? T{1e-10} : b) * p * log_of(p);
  }

  T sign, alpha, gamma;

 private:
  /// A NaN stays one.
  ROBUSTA_HOST_DEVICE T base(T p) const {
    const T base = alpha + sign * p;
    return base < 0 ? T{0} : base;
  }
  ROBUSTA_HOST_DEVICE static T log_of(T p) { return Math::log(p < T{FLT_MIN} ? T{FLT_MIN} : p); }
};

}  // namespace robusta
