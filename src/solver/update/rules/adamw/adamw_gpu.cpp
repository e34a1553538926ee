// AdamW: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2, with the schedule multiplier
// in the rate, as PyTorch has it: weights shrink by rate * decay beside Adam's step, whose gradient and histories know
// nothing of decay. delta is added to the corrected root (Adam's in Caffe is added to the uncorrected one).
#include <cmath>

#include "robusta/error.h"
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdamW {
  static constexpr RuleTraits kTraits{.histories = 2, .decouples_decay = true};  // the means of g and of g^2
  static void check(const SolverDef& solver) {
    if (solver.param.regularization_type() != "L1") return;
    throw Error(ErrorKind::kConfig, "regularization_type \"L1\" with solver type AdamW",
                "AdamW shrinks weights in proportion to them: use \"L2\"")
        .at(solver.where("regularization_type"));
  }
  AdamW(const UpdateTask& task, const caffe::SolverParameter& settings)
      : beta1(static_cast<T>(task.momentum)),
        beta2(static_cast<T>(settings.momentum2())),
        delta(static_cast<T>(settings.delta())),
        shrinkage(static_cast<T>(task.rate * task.decay)) {
    const double t = static_cast<double>(task.iteration + 1), keep = settings.momentum2();
    rate = static_cast<T>(task.rate / (1 - std::pow(task.momentum, t)));
    root = static_cast<T>(1 / std::sqrt(1 - std::pow(keep, t)));
  }
  ROBUSTA_GPU void operator()(T& w, T g, T& mean, T& squares) const {
    mean = beta1 * mean + (1 - beta1) * g;
    squares = beta2 * squares + (1 - beta2) * g * g;
    w -= shrinkage * w + rate * mean / (root * std::sqrt(squares) + delta);
  }
  T beta1, beta2, delta, shrinkage, rate, root;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("AdamW", AdamW);

}  // namespace robusta
