// RMSProp: Tieleman and Hinton 2012, lecture 6.5 of "Neural Networks for Machine Learning". The history is the running
// mean of the squared gradients.
#include <cmath>

#include "base/str.h"
#include "robusta/error.h"
#include "solver/update/register_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct RmsProp {
  static constexpr RuleTraits kTraits{.histories = 1, .moves_without_rate = true};  // the mean of g^2
  static void check(const SolverDef& solver);
  RmsProp(const UpdateTask& task, const caffe::SolverParameter& settings)
      : rate(static_cast<T>(task.rate)),
        keep(static_cast<T>(settings.rms_decay())),
        delta(static_cast<T>(settings.delta())) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& squares) const {
    squares = keep * squares + (1 - keep) * g * g;
    w -= rate * g / (std::sqrt(squares) + delta);
  }
  T rate, keep, delta;
};

template <typename T>
void RmsProp<T>::check(const SolverDef& solver) {
  require_no_momentum(solver);
  const float keep = solver.param.rms_decay();
  if (keep >= 0 && keep < 1) return;
  throw Error(ErrorKind::kConfig, str("rms_decay ", keep, " is not in 0..1"), "give a value below 1, such as 0.99")
      .at(solver.where("rms_decay"));
}

}  // namespace ROBUSTA_GPU_TARGET

ROBUSTA_REGISTER_UPDATE_RULE("RMSProp", RmsProp);

}  // namespace robusta
