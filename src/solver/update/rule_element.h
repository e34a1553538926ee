/// What an update rule says of one element, and what it is given in place of the gradient.
///
/// A rule is a template `Rule<T>` over the type of the arrays:
///
///   static constexpr RuleTraits kTraits                        how many histories, and what holds of them
///   static void check(const SolverDef&)                        optional: throws for settings that it cannot have
///   Rule(const UpdateTask&, const caffe::SolverParameter&)     the numbers of one parameter in one iteration
///   ROBUSTA_GPU void operator()(T& w, T g, T& h...) const      one element: the weight, its gradient, its histories
#pragma once

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {

struct RuleTraits {
  int histories = 1;
  bool moves_without_rate = false;  ///< UpdateRule::history_moves_without_rate
  bool decouples_decay = false;     ///< g has no decay in it: the rule shrinks the weights itself
  LarcNorm larc = LarcNorm::kNone;
  bool adapts = false;  ///< UpdateRule::adapts
};

inline namespace ROBUSTA_GPU_TARGET {

/// g = scale * gradient + l2 * w + l1 * sign(w), without a branch; and what the weight that was loses beside the step.
template <typename T>
struct DecayedGradient {
  DecayedGradient(const UpdateTask& task, const RuleTraits& rule) : scale(static_cast<T>(task.gradient_scale)) {
    if (rule.decouples_decay) return;
    const T decay = static_cast<T>(task.decay);
    if (task.regularization == Regularization::kL2) l2 = decay;
    if (task.regularization == Regularization::kL1) l1 = decay;
    if (task.regularization == Regularization::kDecoupled) shrinkage = static_cast<T>(task.rate * task.decay);
  }
  ROBUSTA_GPU T operator()(T gradient, T w) const {
    return scale * gradient + l2 * w + l1 * (static_cast<T>(w > 0) - static_cast<T>(w < 0));
  }
  T scale, l2 = 0, l1 = 0, shrinkage = 0;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
