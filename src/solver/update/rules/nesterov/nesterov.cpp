#include "solver/update/rules/nesterov/nesterov.h"

#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_nesterov(const SolverDef&) {
  return std::make_unique<FusedRule<NesterovElement>>(RuleSettings{});
}

}  // namespace robusta
