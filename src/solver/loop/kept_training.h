/// A training in memory, between two generations of the ranks that run it (-elastic): what the files of a snapshot
/// hold.
#pragma once

#include <vector>

#include "solver/files/snapshot.h"
#include "solver/loop/training.h"

namespace robusta {

/// State, weights and histories as they are on this rank, which talks to nobody. REQUIRES: no update is under way.
Snapshot snapshot_in_memory(Training& training);

/// The statistics that layers keep of each batch (BatchNorm's running sums) move in every forward pass, while all else
/// moves when an iteration is over: those of an iteration that does not come to its end are taken back.
class StatisticsBefore {
 public:
  /// Notes them. Costs nothing for a net without any.
  void note(Net& net);
  /// They are again what they were.
  void put_back(Net& net) const;

 private:
  std::vector<std::vector<char>> values_;  ///< by parameter that is one
};

}  // namespace robusta
