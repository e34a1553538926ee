// sigmoid: base_lr / (1 + exp(-gamma * (t - stepsize))). A negative gamma lets the rate fall; BVLC refuses it, Intel
// and NVIDIA take it, and it is what is meant mostly.
#include <cmath>

#include "solver/update/lr_policy.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

LrPolicy sigmoid_rate(const SolverDef& solver) {
  return {[p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() / (1.0 + std::exp(-p.gamma() * (static_cast<double>(t) - p.stepsize())));
  }};
}

[[maybe_unused]] const bool registered_sigmoid_rate = register_lr_policy("sigmoid", sigmoid_rate);

}  // namespace
}  // namespace robusta
