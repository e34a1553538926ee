/// Power: y = (shift + scale * x)^power. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class PowerLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  float power() const { return param().power_param().power(); }
  float scale() const { return param().power_param().scale(); }
  float shift() const { return param().power_param().shift(); }
  /// Whether the result depends on x at all; if not, the gradient is zero.
  bool constant() const { return power() == 0 || scale() == 0; }
};

}  // namespace robusta
