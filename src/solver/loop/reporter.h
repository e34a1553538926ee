/// What is told of a training while it goes on, and how fast it is.
#pragma once

#include <memory>
#include <string>

#include "solver/loop/training.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/reports/rank_reports.h"
#include "solver/reports/speed_meter.h"
#include "solver/reports/training_log.h"

namespace robusta {

class Reporter {
 public:
  /// References are kept. `ranked`: null when alone.
  Reporter(Training& training, TrainingLog& log, RankedUpdate* ranked);

  void at_start();
  /// Around the gradients of an iteration; `times`: of their reductions.
  void begin_iteration();
  void end_iteration(const BucketReducer::Times& times);
  /// The lines of a display where it is due, and the progress line. Collective where it is due.
  void display(bool due);
  /// After an iteration: what the options of -ddl want to know of all ranks. Collective where they ask.
  void after_iteration();
  void at_end(const std::string& reason) { log_.end(training_.state.iter, reason, speed_.total()); }

  /// Seconds.
  double slowest_iteration() const { return slowest_; }

 private:
  TrainingLog::Train describe(const Speed& speed) const;
  void report_copies();
  void report_stages();
  void report_graphs();

  Training& training_;
  TrainingLog& log_;
  std::unique_ptr<RankReports> ranks_;  ///< null when alone
  SpeedMeter speed_;
  CopyTotals copied_;           ///< when they were reported last
  int copied_iter_ = 0;         ///< the iteration of that
  RankPipeline::Traffic sent_;  ///< by a stage of this rank, when that was reported last
  int staged_iter_ = 0;         ///< the iteration of that
  double slowest_ = 0;          ///< seconds of an iteration
};

}  // namespace robusta
