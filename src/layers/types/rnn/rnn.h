/// RNN (Elman 1990): h_t = tanh(W x_t + V s + U (cont_t h_(t-1)) + b), and the top is o_t = tanh(W_o h_t + b_o).
#pragma once

#include "layers/kit/recurrent/recurrent_layer.h"

namespace robusta {

/// Parameters: those of RecurrentLayer, then W_o [hidden, hidden] and b_o [hidden]. The state is h.
class RnnLayer : public RecurrentLayer {
 public:
  explicit RnnLayer(const caffe::LayerParameter& param) : RecurrentLayer(param, 1, 1) {}
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  size_t output_weights() const { return hidden_weights() + 1; }
  size_t output_bias() const { return hidden_weights() + 2; }
};

}  // namespace robusta
