// inv: base_lr * (1 + gamma * t) ^ -power.
#include <cmath>

#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy inverse_rate(const SolverDef& solver) {
  require_gamma(solver);
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() * std::pow(1.0 + static_cast<double>(p.gamma()) * static_cast<double>(t), -p.power());
  }};
}

[[maybe_unused]] const bool registered_inverse_rate = register_lr_policy("inv", inverse_rate);

}  // namespace
}  // namespace robusta
