// multistep: the rate is multiplied by gamma at each stepvalue; at most one step per iteration, as in Caffe, also where
// a resume has passed several.
#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy multistep_rate(const SolverDef& solver) {
  require_gamma(solver);
  return {[p = solver.param](int64_t t, double, PolicyState& state) {
    const bool more = state.current_step < p.stepvalue_size();
    if (more && t >= p.stepvalue(state.current_step)) ++state.current_step;
    return rate_after_steps(p, state.current_step);
  }};
}

[[maybe_unused]] const bool registered_multistep_rate = register_lr_policy("multistep", multistep_rate);

}  // namespace
}  // namespace robusta
