// Where a training begins in a log.

#include "inspect/runs/runs_so_far.h"

#include "base/str.h"

namespace robusta {

RunLog& RunsSoFar::begin() {
  if (runs.empty() || runs.back().has_results()) {
    RunLog& run = runs.emplace_back();
    run.name = runs.size() == 1 ? name : str(name, " #", runs.size());
    return run;
  }
  RunLog& run = runs.back();
  run.clock.reset();
  run.starts.clear();
  run.facts.clear();
  run.iter = 0;
  for (RunEvent& event : run.events) event.iter = event.seconds = 0;
  return run;
}

RunLog& RunsSoFar::now() { return runs.empty() ? begin() : runs.back(); }

double RunsSoFar::since_start(double clock) {
  RunLog& run = now();
  if (!run.clock) run.clock = clock;
  return clock - *run.clock;
}

}  // namespace robusta
