#include "solver/rules/adagrad.h"

#include "solver/rules/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_adagrad(const SolverDef& solver) {
  require_no_momentum(solver);
  return std::make_unique<FusedRule<AdaGradElement>>(RuleSettings{.delta = solver.param.delta()});
}

}  // namespace robusta
