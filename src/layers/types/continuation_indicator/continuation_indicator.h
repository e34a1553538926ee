/// ContinuationIndicator: what says to LSTM and RNN where sequences begin. Shared by its kernels.
#pragma once

#include "layers/kit/elementwise.h"
#include "layers/kit/layer.h"

namespace robusta {

class ContinuationIndicatorLayer : public Layer {
 public:
  explicit ContinuationIndicatorLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {0, 0, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {shape()}; }
  bool has_backward() const override { return false; }

 private:
  Shape shape() const;
};

}  // namespace robusta
