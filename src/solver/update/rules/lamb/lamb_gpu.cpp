// LAMB: You et al. 2020, "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", algorithm 2, with
// both corrections of the bias and the identity for its phi, as NVIDIA's apex has it. Where it adapts, the step of a
// parameter is as long as rate * |w|; elsewhere (decay_mult 0: biases, scales) it is AdamW's.
#include <cmath>

#include "robusta/error.h"
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct Lamb {
  // the means of g and of g^2
  static constexpr RuleTraits kTraits{.histories = 2, .decouples_decay = true, .adapts = true};
  static void check(const SolverDef& solver) {
    if (solver.param.regularization_type() != "L1") return;
    throw Error(ErrorKind::kConfig, "regularization_type \"L1\" with solver type LAMB",
                "LAMB shrinks weights in proportion to them: use \"L2\"")
        .at(solver.where("regularization_type"));
  }
  Lamb(const UpdateTask& task, const caffe::SolverParameter& settings)
      : beta1(static_cast<T>(task.momentum)),
        beta2(static_cast<T>(settings.momentum2())),
        delta(static_cast<T>(settings.delta())),
        decay(static_cast<T>(task.decay)),
        rate(static_cast<T>(task.rate)) {
    const double t = static_cast<double>(task.iteration + 1), keep = settings.momentum2();
    correction = static_cast<T>(1 / (1 - std::pow(task.momentum, t)));
    root = static_cast<T>(1 / std::sqrt(1 - std::pow(keep, t)));
  }
  ROBUSTA_GPU T step(T w, T mean, T squares) const {
    return correction * mean / (root * std::sqrt(squares) + delta) + decay * w;
  }
  ROBUSTA_GPU void operator()(T& w, T g, T& mean, T& squares) const {
    mean = beta1 * mean + (1 - beta1) * g;
    squares = beta2 * squares + (1 - beta2) * g * g;
    w -= rate * step(w, mean, squares);
  }
  T beta1, beta2, delta, decay, rate, correction, root;
};

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("LAMB", Lamb);

}  // namespace robusta
