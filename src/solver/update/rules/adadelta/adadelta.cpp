#include "solver/update/rules/adadelta/adadelta.h"

#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_adadelta(const SolverDef& solver) {
  return std::make_unique<FusedRule<AdaDeltaElement>>(RuleSettings{.delta = solver.param.delta()});
}

}  // namespace robusta
