// MultinomialLogisticLoss: L = -sum log(p(label)) / N of probabilities p, which are taken to be at least 1e-20, also in
// the gradient -1 / (N p), as in BVLC Caffe. No softmax is inside: SoftmaxWithLoss has it.

#include "layers/backends/class_loss.h"

namespace robusta {
namespace {

template <typename Math>
struct NegativeLogarithm {
  using T = typename Math::T;
  // Written so that a NaN stays one.
  static ROBUSTA_GPU T at_least(T p) { return p < T{1e-20} ? T{1e-20} : p; }
  ROBUSTA_GPU T value(T p, bool own) const { return own ? -Math::log(at_least(p)) : 0; }
  ROBUSTA_GPU T slope(T p, bool own) const { return own ? -1 / at_least(p) : 0; }
};

}  // namespace

ROBUSTA_REGISTER_CLASS_LOSS("MultinomialLogisticLoss", NegativeLogarithm);

}  // namespace robusta
