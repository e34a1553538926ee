#include "solver/update/rules/adam/adam.h"

#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_adam(const SolverDef& solver) {
  return std::make_unique<FusedRule<AdamElement>>(
      RuleSettings{.keep = solver.param.momentum2(), .delta = solver.param.delta()});
}

}  // namespace robusta
