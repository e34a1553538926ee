// Stochastic gradient descent with momentum (Polyak 1964, "Some methods of speeding up the convergence of iteration
// methods"). The velocity holds the rate, as in Caffe: a change of rate does not rescale it.
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct Sgd {
  // the velocity, with the rate in it
  static constexpr RuleTraits kTraits{.histories = 1, .larc = LarcNorm::kGradient};
  Sgd(const UpdateTask& task, const caffe::SolverParameter&)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& velocity) const {
    velocity = momentum * velocity + rate * g;
    w -= velocity;
  }
  T momentum, rate;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("SGD", Sgd);

}  // namespace robusta
