/// ReLU, which other types' kernels take along as a Rectifier.
#pragma once

#include "layers/kit/roles.h"
#include "layers/kit/unary.h"

namespace robusta {

class ReluLayer : public ElementwiseLayer, public Rectifier {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  float slope() const override { return param().relu_param().negative_slope(); }
};

}  // namespace robusta
