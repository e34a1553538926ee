// step: base_lr * gamma ^ floor(t / stepsize).
#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy step_rate(const SolverDef& solver) {
  require_gamma(solver);
  if (solver.param.stepsize() <= 0) {
    refuse_setting(solver, "stepsize", str("stepsize is ", solver.param.stepsize()),
                   "lr_policy \"step\" needs the number of iterations between two steps");
  }
  return {[p = solver.param](int64_t t, double, PolicyState& state) {
    state.current_step = static_cast<int>(t / p.stepsize());
    return rate_after_steps(p, state.current_step);
  }};
}

[[maybe_unused]] const bool registered_step_rate = register_lr_policy("step", step_rate);

}  // namespace
}  // namespace robusta
