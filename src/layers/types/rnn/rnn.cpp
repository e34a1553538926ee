// RNN: the parameters of its output.

#include "layers/types/rnn/rnn.h"

namespace robusta {

std::vector<ParamDecl> RnnLayer::params() const {
  std::vector<ParamDecl> decls = RecurrentLayer::params();
  decls.push_back(weights({size().hidden, size().hidden}));
  decls.push_back(bias(size().hidden));
  return decls;
}

double RnnLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  const double hidden = static_cast<double>(size().hidden);
  return RecurrentLayer::forward_flops(bottoms, tops) + 2 * static_cast<double>(size().rows()) * hidden * hidden;
}

ROBUSTA_REGISTER_LAYER("RNN", RnnLayer);

}  // namespace robusta
