// cosine: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", equation 5, in one period
// of max_iter iterations, from base_lr to min_lr.
#include <cmath>
#include <numbers>

#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy cosine_rate(const SolverDef& solver) {
  require_max_iter(solver);
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.min_lr() + 0.5 * (p.base_lr() - p.min_lr()) * (1.0 + std::cos(std::numbers::pi * progress(p, t)));
  }};
}

[[maybe_unused]] const bool registered_cosine_rate = register_lr_policy("cosine", cosine_rate);

}  // namespace
}  // namespace robusta
