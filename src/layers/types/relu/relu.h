/// ReLU: what its kernels share.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class ReluLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  float slope() const { return param().relu_param().negative_slope(); }
};

}  // namespace robusta
