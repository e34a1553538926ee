// NVIDIA's SAG, as its GPU's kernel has it (its CPU's path is SGD): gradient descent along a running mean of the
// gradients, whose momentum does not lengthen the steps. Not the stochastic average gradient of the literature.
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct Sag {
  // the mean of g
  static constexpr RuleTraits kTraits{.histories = 1, .moves_without_rate = true, .larc = LarcNorm::kHistory};
  Sag(const UpdateTask& task, const caffe::SolverParameter&)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& mean) const {
    mean = momentum * mean + (1 - momentum) * g;
    w -= rate * mean;
  }
  T momentum, rate;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("SAG", Sag);

}  // namespace robusta
