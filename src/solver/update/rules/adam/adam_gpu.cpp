// Adam: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", in the order of the end of its section 2: the
// correction of the bias is folded into the rate, so delta is added to the uncorrected root, as in Caffe. Decay is part
// of the gradient (L2; adamw decouples it). t is the global iteration, which a resume continues.
#include <cmath>

#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct Adam {
  static constexpr RuleTraits kTraits{.histories = 2, .moves_without_rate = true};  // the means of g and of g^2
  Adam(const UpdateTask& task, const caffe::SolverParameter& settings)
      : beta1(static_cast<T>(task.momentum)),
        beta2(static_cast<T>(settings.momentum2())),
        delta(static_cast<T>(settings.delta())) {
    const double t = static_cast<double>(task.iteration + 1), keep = settings.momentum2();
    const double correction = std::sqrt(1 - std::pow(keep, t)) / (1 - std::pow(task.momentum, t));
    rate = static_cast<T>(task.rate * correction);
  }
  ROBUSTA_GPU void operator()(T& w, T g, T& mean, T& squares) const {
    mean = beta1 * mean + (1 - beta1) * g;
    squares = beta2 * squares + (1 - beta2) * g * g;
    w -= rate * mean / (std::sqrt(squares) + delta);
  }
  T beta1, beta2, delta, rate;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("Adam", Adam);

}  // namespace robusta
