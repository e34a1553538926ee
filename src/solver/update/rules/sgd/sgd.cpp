#include "solver/update/rules/sgd/sgd.h"

#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_sgd(const SolverDef&) {
  return std::make_unique<FusedRule<SgdElement>>(RuleSettings{});
}

}  // namespace robusta
