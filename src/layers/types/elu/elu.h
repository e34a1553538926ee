/// ELU: y = lambda * x for x > 0, lambda * alpha * (e^x - 1) else (Clevert, Unterthiner, Hochreiter 2016; lambda as in
/// SELU, Klambauer et al. 2017). Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class EluLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  float alpha() const { return param().elu_param().alpha(); }
  float lambda() const { return param().elu_param().lambda(); }
  /// Whether y > 0 exactly where x > 0, so that backward can do with y.
  bool sign_survives() const { return lambda() > 0 && alpha() >= 0; }
};

}  // namespace robusta
