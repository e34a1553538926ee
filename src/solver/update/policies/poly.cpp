// poly: min_lr + (base_lr - min_lr) * (1 - t / max_iter) ^ power.
#include <cmath>

#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy polynomial_rate(const SolverDef& solver) {
  require_max_iter(solver);
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.min_lr() + (p.base_lr() - p.min_lr()) * std::pow(1.0 - progress(p, t), static_cast<double>(p.power()));
  }};
}

[[maybe_unused]] const bool registered_polynomial_rate = register_lr_policy("poly", polynomial_rate);

}  // namespace
}  // namespace robusta
