#include "solver/update/rules/adagrad/adagrad.h"

#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_adagrad(const SolverDef& solver) {
  require_no_momentum(solver);
  return std::make_unique<FusedRule<AdaGradElement>>(RuleSettings{.delta = solver.param.delta()});
}

}  // namespace robusta
