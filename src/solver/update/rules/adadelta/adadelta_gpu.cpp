// AdaDelta: Zeiler 2012, "ADADELTA: An Adaptive Learning Rate Method", arXiv 1212.5701, algorithm 1. Histories: running
// means of the squared gradients and of the squared steps. The learning rate multiplies the paper's step; 1 is the
// paper's rule.
#include <cmath>

#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdaDelta {
  // the means of g^2 and of the squared steps
  static constexpr RuleTraits kTraits{.histories = 2, .moves_without_rate = true};
  AdaDelta(const UpdateTask& task, const caffe::SolverParameter& settings)
      : rate(static_cast<T>(task.rate)), keep(static_cast<T>(task.momentum)), delta(static_cast<T>(settings.delta())) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& squares, T& steps) const {
    squares = keep * squares + (1 - keep) * g * g;
    const T step = g * std::sqrt((steps + delta) / (squares + delta));
    steps = keep * steps + (1 - keep) * step * step;
    w -= rate * step;
  }
  T rate, keep, delta;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("AdaDelta", AdaDelta);

}  // namespace robusta
