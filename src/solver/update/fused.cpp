#include "solver/update/fused.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

void require_no_momentum(const SolverDef& solver) {
  const float momentum = solver.param.momentum();
  if (momentum == 0 && solver.param.momentum_policy() == "fixed") return;
  throw Error(ErrorKind::kConfig, str("momentum ", momentum, " with solver type ", solver.param.type()),
              str(solver.param.type(), " has no momentum: remove it or set it to 0"))
      .at(solver.where("momentum"));
}

}  // namespace robusta
