/// ReLU: what kernels that take a ReLU along with other layers ask of it.
#pragma once

#include "layers/kit/unary.h"

namespace robusta {

class ReluLayer : public ElementwiseLayer {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  float slope() const { return param().relu_param().negative_slope(); }
};

}  // namespace robusta
