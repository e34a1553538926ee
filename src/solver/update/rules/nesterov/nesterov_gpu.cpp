// Nesterov's accelerated gradient, in the form of Sutskever, Martens, Dahl and Hinton 2013, "On the importance of
// initialization and momentum in deep learning", section 2.
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct Nesterov {
  static constexpr RuleTraits kTraits{.histories = 1};  // the velocity
  Nesterov(const UpdateTask& task, const caffe::SolverParameter&)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& velocity) const {
    const T before = velocity;
    velocity = momentum * velocity + rate * g;
    w -= (1 + momentum) * velocity - momentum * before;
  }
  T momentum, rate;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("Nesterov", Nesterov);

}  // namespace robusta
