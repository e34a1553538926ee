// SmoothL1LossOHEM: L = sum f(w (a - b)) / divisor, f being the smooth L1 distance with sigma 1, and as a second top
// the terms of each region, summed over its channels: what BoxAnnotatorOHEM chooses hard examples by (Shrivastava,
// Gupta, Girshick 2016, "Training region-based object detectors with online hard example mining").
//
// As in Intel's fork (smooth_L1_loss_ohem_layer.cpp): the divisor counts regions (VALID, FULL), samples (BATCH_SIZE) or
// is given, and the loss has no weight unless the prototxt gives one. There the gradient lacks the factor w, which for
// weights of 0 and 1 is the same, and the second top has none; here both are those of what is computed.

#include "layers/backends/regression_loss.h"
#include "layers/kit/smooth_l1.h"

namespace robusta {
namespace {

/// There are no labels, so none is ignored.
caffe::LossParameter without_labels(caffe::LossParameter param) {
  param.clear_ignore_label();
  return param;
}

class SmoothL1LossOhemLayer : public RegressionLossLayer {
 public:
  explicit SmoothL1LossOhemLayer(const caffe::LayerParameter& param)
      : RegressionLossLayer(param, LossNormalizer(without_labels(param.loss_param()), caffe::LossParameter::VALID)) {}
  Arity arity() const override { return {2, 3, 1, 2}; }
  bool is_loss() const override { return false; }
  int automatic_tops() const override { return 1; }
};

template <typename Math>
struct RegionDistance : SmoothL1<Math> {};

}  // namespace

ROBUSTA_REGISTER_REGRESSION_LOSS("SmoothL1LossOHEM", RegionDistance, SmoothL1LossOhemLayer);

}  // namespace robusta
