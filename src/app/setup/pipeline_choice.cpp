// How many learners a process has is to be known before any of them reads its solver.
#include "app/setup/pipeline_choice.h"

#include <algorithm>

#include "base/log.h"
#include "robusta/error.h"
#include "solver/files/net_defs.h"
#include "solver/pipeline/placement.h"

namespace robusta {

bool names_devices(const std::vector<SolverPhase>& phases) {
  return std::ranges::any_of(
      phases, [](const SolverPhase& phase) { return names_devices(train_net_of(phase.solver).net.param); });
}

bool solver_names_devices(const Options& options) {
  const QuietLog quiet;
  try {
    return names_devices(read_phases(options.solver()));
  } catch (const Error&) {
    return false;
  }
}

int learners_of(const SolverDef& solver, const Ranks& ranks) {
  const int workers = ranks.workers(), stages = std::max(1, stages_named(train_net_of(solver).net.param));
  return workers % stages == 0 ? workers / stages : workers;  // what does not divide is refused later
}

}  // namespace robusta
