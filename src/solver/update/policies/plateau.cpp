// plateau: the rate is multiplied by gamma when the smoothed loss has not fallen for plateau_winsize iterations, with a
// window of its own for each step.
#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

void note_loss(float loss, int64_t t, PolicyState& state) {
  if (!(loss < state.minimum_loss)) return;
  state.minimum_loss = loss;
  state.iter_last_event = static_cast<int>(t);
}

LrPolicy plateau_rate(const SolverDef& solver) {
  require_gamma(solver);
  if (solver.param.plateau_winsize_size() == 0) {
    refuse_setting(solver, "lr_policy", "lr_policy \"plateau\" needs plateau_winsize",
                   "give one plateau_winsize per step: how many iterations to wait for a lower loss");
  }
  const auto rate = [p = solver.param](int64_t t, double smoothed_loss, PolicyState& state) {
    note_loss(static_cast<float>(smoothed_loss), t, state);
    const int k = state.current_step;
    if (k < p.plateau_winsize_size() && t >= int64_t{state.iter_last_event} + p.plateau_winsize(k)) {
      ++state.current_step;
      state.iter_last_event = static_cast<int>(t);
    }
    return rate_after_steps(p, state.current_step);
  };
  return {rate, true};
}

[[maybe_unused]] const bool registered_plateau_rate = register_lr_policy("plateau", plateau_rate);

}  // namespace
}  // namespace robusta
