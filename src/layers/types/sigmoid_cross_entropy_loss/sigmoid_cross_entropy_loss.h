/// SigmoidCrossEntropyLoss: -sum(t log p + (1 - t) log(1 - p)) with p = sigmoid(x), for scores x and targets t. Shared
/// by its kernels.
#pragma once

#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class SigmoidCrossEntropyLossLayer : public Layer, public TellsShapes {
 public:
  explicit SigmoidCrossEntropyLossLayer(const caffe::LayerParameter& param)
      : Layer(param), normalizer_(param.loss_param(), caffe::LossParameter::BATCH_SIZE) {}
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return bottom == 1 ? wanted_targets(bottoms[0], bottoms[1]) : std::nullopt;
  }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  const LossNormalizer& normalizer() const { return normalizer_; }

 private:
  LossNormalizer normalizer_;
};

}  // namespace robusta
