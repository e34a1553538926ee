// AdaGrad: Duchi, Hazan and Singer 2011, "Adaptive Subgradient Methods for Online Learning and Stochastic
// Optimization", JMLR 12. The history is the sum of the squared gradients.
#include <cmath>

#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdaGrad {
  static constexpr RuleTraits kTraits{.histories = 1, .moves_without_rate = true};  // the sum of g^2
  static void check(const SolverDef& solver) { require_no_momentum(solver); }
  AdaGrad(const UpdateTask& task, const caffe::SolverParameter& settings)
      : rate(static_cast<T>(task.rate)), delta(static_cast<T>(settings.delta())) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& squares) const {
    squares += g * g;
    w -= rate * g / (std::sqrt(squares) + delta);
  }
  T rate, delta;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("AdaGrad", AdaGrad);

}  // namespace robusta
