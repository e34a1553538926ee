#include "solver/update/rules/rmsprop/rmsprop.h"

#include "base/str.h"
#include "robusta/error.h"
#include "solver/update/fused.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_rmsprop(const SolverDef& solver) {
  require_no_momentum(solver);
  const float keep = solver.param.rms_decay();
  if (!(keep >= 0 && keep < 1)) {
    throw Error(ErrorKind::kConfig, str("rms_decay ", keep, " is not in 0..1"), "give a value below 1, such as 0.99")
        .at(solver.where("rms_decay"));
  }
  return std::make_unique<FusedRule<RmsPropElement>>(RuleSettings{.keep = keep, .delta = solver.param.delta()});
}

}  // namespace robusta
