// multifixed (Intel): stagelr[i] until iteration stageiter[i], the last one to the end.
#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy multifixed_rate(const SolverDef& solver) {
  const int rates = solver.param.stagelr_size(), ends = solver.param.stageiter_size();
  if (rates == 0 || rates != ends) {
    refuse_setting(solver, "lr_policy", str(rates, " stagelr for ", ends, " stageiter"),
                   "lr_policy \"multifixed\" needs one stageiter, the last iteration of the stage, for each stagelr");
  }
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    int stage = 0;
    while (stage + 1 < p.stagelr_size() && t > p.stageiter(stage)) ++stage;
    return static_cast<double>(p.stagelr(stage));
  }};
}

[[maybe_unused]] const bool registered_multifixed_rate = register_lr_policy("multifixed", multifixed_rate);

}  // namespace
}  // namespace robusta
