// Where a training begins in a log.

#include "inspect/runs/runs_so_far.h"

#include "base/str.h"

namespace robusta {

RunLog& RunsSoFar::begin() {
  RunLog& run = runs.emplace_back();
  run.name = runs.size() == 1 ? name : str(name, " #", runs.size());
  start.reset();
  return run;
}

RunLog& RunsSoFar::now() { return runs.empty() ? begin() : runs.back(); }

double RunsSoFar::since_start(double seconds) {
  if (!start) start = seconds;
  return seconds - *start;
}

}  // namespace robusta
