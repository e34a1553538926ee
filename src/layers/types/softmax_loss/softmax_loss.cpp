// SoftmaxWithLoss: fields and shapes.
//
// The divisor is that of valid labels unless loss_param says otherwise, as in BVLC Caffe.

#include "layers/types/softmax_loss/softmax_loss.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/labels.h"

namespace robusta {

SoftmaxLossLayer::SoftmaxLossLayer(const caffe::LayerParameter& param)
    : Layer(param), normalizer_(param.loss_param(), caffe::LossParameter::VALID) {
  if (!(label_smoothing() >= 0 && label_smoothing() < 1)) {
    throw Error(ErrorKind::kConfig, str("label_smoothing ", label_smoothing(), " is outside 0..1"),
                "usual values are 0 to 0.2")
        .in_field("loss_param.label_smoothing");
  }
}

std::vector<Shape> SoftmaxLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& scores = bottoms[0];
  axis_ = canonical_axis(scores, param().softmax_param().axis(), "softmax_param.axis");
  check_label_count(scores, axis_, bottoms[1], "softmax_param.axis");
  if (param().top_size() < 2) return {Shape{}};
  return {Shape{}, scores};
}

ROBUSTA_REGISTER_LAYER("SoftmaxWithLoss", SoftmaxLossLayer);

}  // namespace robusta
