/// What a training over ranks tells about them while it goes on: -dump_iter, -rebind_iter, -dbg_level and the slowest
/// rank on the lines of the log.
///
/// Nothing is sent in an ordinary iteration. In the ones that report, each rank sends one number. Rank 0 logs.
#pragma once

#include <string>
#include <vector>

#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_reducer.h"
#include "solver/reports/pace.h"
#include "solver/reports/training_log.h"

namespace robusta {

class RankReports {
 public:
  /// References are kept. `type`: of the gradients.
  RankReports(Ranks& ranks, BucketReducer& reducer, DType type, TrainingLog& log);

  /// The reduction that will be used and, with -dbg_level, its buckets.
  void at_start();
  /// After each iteration, when all its buckets are reduced. `done`: iterations so far; `total`: of this run.
  /// Collective where the options ask for a report.
  void after_iteration(int done, const Speed& total);
  /// Before a display: finds the slowest rank, unless that was done a few iterations ago. Collective.
  void before_display(int done, const Speed& total);
  /// The rank that computes slowest and its name, "3 (node2)"; -1 as long as it is not known.
  int slowest() const { return slowest_.rank; }
  const std::string& slowest_name() const { return slowest_name_; }

 private:
  void dump(int done, const Speed& speed);
  void rebind(int done, const Speed& speed);
  void name_slowest(const std::vector<double>& computing);
  std::string named(int rank) const;
  /// The buckets of gradients, and of the votes.
  IdRange<BucketId> summed() const { return {BucketId(0), BucketId(summed_count())}; }
  int summed_count() const { return reducer_.sums().last_sum().number() + 1; }
  double total_bytes() const;

  Ranks& ranks_;
  BucketReducer& reducer_;
  DType type_;
  TrainingLog& log_;
  Speed at_dump_, at_rebind_, at_look_;  ///< totals at the last one of each kind
  int looked_at_ = -1;                   ///< iteration; -1: never
  SlowRanks slow_;
  Slowest slowest_;
  std::string slowest_name_;
};

}  // namespace robusta
