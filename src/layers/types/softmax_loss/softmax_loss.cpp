// SoftmaxWithLoss: meaning.

#include "layers/types/softmax_loss/softmax_loss.h"

#include "base/str.h"
#include "layers/kit/axis.h"

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
  const int64_t positions = scores.count(0, axis_) * scores.count(axis_ + 1);
  if (bottoms[1].count() != positions) {
    throw Error(ErrorKind::kConfig,
                str("the scores (", scores.str(), ") have ", positions, " positions outside axis ", axis_,
                    ", but there are ", bottoms[1].count(), " labels (", bottoms[1].str(), ")"),
                "give one label per position; softmax_param.axis names the class axis")
        .in_field("bottom");
  }
  if (param().top_size() < 2) return {Shape{}};
  return {Shape{}, scores};
}

ROBUSTA_REGISTER_LAYER("SoftmaxWithLoss", SoftmaxLossLayer);

}  // namespace robusta
