/// SoftmaxWithLoss: cross-entropy of the softmax of the scores and one label per position. Shared by its kernels.
///
/// Bottoms: scores; labels, one for each position outside the class axis. Tops: the loss, a scalar; optionally the
/// probabilities.
#pragma once

#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"

namespace robusta {

class SoftmaxLossLayer : public Layer {
 public:
  explicit SoftmaxLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override {
    return LabelUse{0, 1, bottoms[0][axis_], normalizer_.ignored()};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 5 * static_cast<double>(bottoms[0].count());
  }

  int axis() const { return axis_; }  ///< the class axis, counted from the front; after infer_tops
  const LossNormalizer& normalizer() const { return normalizer_; }
  float label_smoothing() const { return param().loss_param().label_smoothing(); }

 private:
  LossNormalizer normalizer_;
  int axis_ = 1;
};

}  // namespace robusta
