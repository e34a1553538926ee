// Losses over a softmax: shapes.

#include "layers/kit/softmax_loss.h"

#include "layers/kit/axis.h"

namespace robusta {

AxisView SoftmaxLossLayer::view(const Shape& scores) const {
  return AxisView(scores, canonical_axis(scores, axis_, axis_field_));
}

std::vector<Shape> SoftmaxLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape &scores = bottoms[0], &labels = bottoms[1];
  check_label_count(scores, canonical_axis(scores, axis_, axis_field_), labels, axis_field_);
  std::vector<Shape> tops{Shape{}, scores, labels};
  tops.resize(static_cast<size_t>(std::max(param().top_size(), 1)));
  return tops;
}

}  // namespace robusta
