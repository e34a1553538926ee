#include "solver/rules/sgd.h"

#include "solver/rules/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_sgd(const SolverDef&) {
  return std::make_unique<FusedRule<SgdElement>>(RuleSettings{});
}

}  // namespace robusta
