/// What ends a training before max_iter, and what asks for a snapshot in between: signals, callers, the wall time.
///
/// Each rank says what it asks for (votes), and all obey the sums, hence in the same iteration.
#pragma once

#include <functional>
#include <string>

#include "solver/loop/signals.h"
#include "solver/loop/walltime.h"
#include "solver/ranks/votes.h"

namespace robusta {

/// Seconds that the slowest ones took so far.
struct Costs {
  double iteration = 0;
  double test = 0;  ///< 0 when none comes next
  double snapshot = 0;
};

class StopConditions {
 public:
  /// `poll` may be empty, `walltime` null. `costs`: what has to fit before the wall time ends.
  StopConditions(std::function<Request()> poll, const Walltime* walltime, std::function<Costs()> costs)
      : poll_(std::move(poll)), walltime_(walltime), costs_(std::move(costs)) {}

  /// What this rank asks for now, as votes. Asks `poll`.
  Votes votes() const;
  /// Acts on the votes of all ranks.
  void obey(const Votes& votes);

  bool stopping() const { return !reason_.empty(); }
  /// "signal", "walltime"; "" while nothing stops the training.
  const std::string& reason() const { return reason_; }
  /// Whether a snapshot was asked for since the last call.
  bool take_snapshot_request();

 private:
  bool out_of_time() const;
  void log_walltime() const;

  std::function<Request()> poll_;
  const Walltime* walltime_;  ///< null: no limit
  std::function<Costs()> costs_;
  std::string reason_;
  bool snapshot_asked_ = false;  ///< by a signal, and not yet taken
};

}  // namespace robusta
