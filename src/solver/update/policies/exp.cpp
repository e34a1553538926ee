// exp: base_lr * gamma ^ t.
#include <cmath>

#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy exponential_rate(const SolverDef& solver) {
  require_gamma(solver);
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() * std::pow(static_cast<double>(p.gamma()), static_cast<double>(t));
  }};
}

[[maybe_unused]] const bool registered_exponential_rate = register_lr_policy("exp", exponential_rate);

}  // namespace
}  // namespace robusta
