// A training stops while there is time left for one more iteration, a test that is due, and a snapshot, each as slow as
// the slowest so far.
#include "solver/loop/stop_conditions.h"

#include <utility>

#include "base/clock_text.h"
#include "base/log.h"

namespace robusta {

Votes StopConditions::votes() const {
  const Request request = poll_ ? poll_() : Request::kNone;
  Votes votes;
  votes.stop = request == Request::kStop ? 1 : 0;
  votes.snapshot = request == Request::kSnapshot ? 1 : 0;
  votes.out_of_time = out_of_time() ? 1 : 0;
  return votes;
}

void StopConditions::obey(const Votes& votes) {
  snapshot_asked_ = votes.snapshot > 0;
  if (votes.stop > 0) {
    reason_ = "signal";
  } else if (votes.out_of_time > 0) {
    log_walltime();
    reason_ = "walltime";
  }
}

bool StopConditions::take_snapshot_request() { return std::exchange(snapshot_asked_, false); }

bool StopConditions::out_of_time() const {
  if (!walltime_ || !walltime_->limited()) return false;
  const Costs costs = costs_();
  return walltime_->left() <= costs.iteration + costs.test + costs.snapshot;
}

/// Of several ranks some may have no wall time of their own.
void StopConditions::log_walltime() const {
  const Costs costs = costs_();
  LOG_INFO << "Wall time: " << (walltime_ ? clock_text(walltime_->left()) + " left, " : "")
           << "an iteration and a snapshot take " << clock_text(costs.iteration + costs.snapshot) << ": stopping";
}

}  // namespace robusta
