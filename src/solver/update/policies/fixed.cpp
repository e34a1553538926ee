// fixed: base_lr throughout.
#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy fixed_rate(const SolverDef& solver) {
  return {[p = solver.param](int64_t, double, PolicyState&) { return static_cast<double>(p.base_lr()); }};
}

[[maybe_unused]] const bool registered_fixed_rate = register_lr_policy("fixed", fixed_rate);

}  // namespace
}  // namespace robusta
