/// Trains a net as a solver.prototxt says: the loop of iterations, tests, snapshots and displays.
///
/// Owns the train net, the test nets (which share its parameters and its memory for activations), the histories and the
/// state; loop/ has its parts. Training positions are counted in samples since training began, so that batches, random
/// crops and dropout are the same after a resume, and for any number of ranks. One thread drives a solver. Files are
/// written by solve() and snapshot() alone, and by rank 0.
///
/// With several ranks every member is collective; each rank takes its part of every global batch, and rank 0's weights,
/// seed and state are everybody's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/end_of_generation.h"
#include "net/net.h"
#include "schema/source.h"
#include "solver/files/snapshot.h"
#include "solver/files/training_state.h"
#include "solver/loop/iteration_strategy.h"
#include "solver/loop/kept_training.h"
#include "solver/loop/last_epochs.h"
#include "solver/loop/net_builder.h"
#include "solver/loop/reporter.h"
#include "solver/loop/snapshotter.h"
#include "solver/loop/solver_options.h"
#include "solver/loop/stop_conditions.h"
#include "solver/loop/tester.h"
#include "solver/loop/train_passes.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/reports/timeline/timeline.h"
#include "solver/reports/training_log.h"
#include "solver/update/schedule.h"
#include "solver/update/updater.h"

namespace robusta {

class Solver {
 public:
  /// Builds the nets, loads weights or restores. Throws Error with file and line.
  Solver(SolverDef def, SolverOptions options);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Trains to max_iter, or until a request or the wall time stops it. Throws Error{kNumeric} when the loss is not
  /// finite, and before the first iteration when snapshots cannot be written.
  TrainingResult solve();

  /// Trains for so many iterations, with tests, displays and periodic snapshots, or until something stops it.
  void step(int iterations);

  /// Waits for updates that step() has left under way. REQUIRED before parameters are read.
  void finish_updates() { training_->finish_updates(); }

  /// One pass over every test net's test_iter batches, from the first sample on; logs the means.
  void test_all() { tester_->test_all(); }

  /// Writes model and state. Throws Error{kOutput|kNumeric}.
  SnapshotPaths snapshot() { return snapshotter_->write(); }

  /// What goes on from here with other ranks (-elastic). In order, all ranks call it and settle what each of them has
  /// of its own; after a fault each keeps what it has itself, of the last iteration that has come to its end.
  Snapshot keep(EndOfGeneration::Kind kind);

  /// Where ranks have a stage each, that of this one.
  Net& train_net() { return *train_net_; }
  /// What is trained, all stages together, to be looked at: where ranks have them it has no memory.
  Net& whole_net() { return training_->whole(); }
  /// With the mean of the ranks' statistics, as a snapshot has them, of all stages; on rank 0. Collective. REQUIRES:
  /// finish_updates().
  WeightsFile weights();
  std::vector<std::unique_ptr<Net>>& test_nets() { return test_nets_; }
  Updater& updater() { return *updater_; }
  /// Null when alone.
  RankedUpdate* ranked_update() { return ranked_.get(); }
  /// Null where no layer is cut among ranks.
  const ModelRanks* model_ranks() const { return model_.get(); }
  /// Null unless several devices of this process train.
  DevicePipeline* pipeline() { return pipeline_.get(); }
  /// Null unless ranks have a stage each.
  RankPipeline* rank_pipeline() { return over_ranks_.get(); }
  const TrainingState& state() const { return state_; }
  const SolverDef& def() const { return def_; }

  /// The rate that the next iteration is going to have.
  double next_rate() const;

  /// Called before every iteration; and before its updates, when all gradients of this rank are there: while it is set
  /// the updates wait for it.
  std::function<void()> before_iteration, on_gradients;
  /// Told the loss of every forward pass of training, and loss and rate of every iteration.
  std::function<void(double loss)> on_forward;
  std::function<void(int iter, double loss, double rate)> on_iteration;
  /// Told the means of every test.
  std::function<void(int net, const std::vector<OutputBlob>& means)> on_test;
  /// The same of the averaged weights (ema_decay).
  std::function<void(int net, const std::vector<OutputBlob>& means)> on_averaged_test;

 private:
  // solver_setup.cpp
  void build();
  void build_nets(NetBuilder& builder);
  void start_from(const Snapshot* snapshot);
  std::vector<Net*> nets_that_run();
  void start_timeline();
  void assemble();
  Costs costs() const;

  // solver.cpp
  Votes train_iteration();
  Iteration plan_iteration(bool display_due);
  void start_tensorboard();
  void update(const Iteration& iteration, bool display_due);
  void after_iteration(const Votes& votes);
  void end_epoch();
  void finish_training();
  void show_last_loss();

  SolverDef def_;
  SolverOptions options_;
  Ranks alone_;
  StatisticsBefore statistics_before_;  ///< of the iteration that runs, where ranks may be lost
  bool in_iteration_ = false;           ///< and it has not updated anything yet
  bool goes_on_ = false;                ///< Iteration::goes_on
  Ranks& ranks_;
  Schedule schedule_;
  TrainingLog log_;
  TrainingState state_;
  std::unique_ptr<ModelRanks> model_;  ///< null: no layer is cut among ranks
  std::unique_ptr<Net> whole_net_;     ///< null unless ranks have a stage each
  std::unique_ptr<Net> train_net_;
  std::vector<std::unique_ptr<Net>> test_nets_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<DevicePipeline> pipeline_;  ///< null: the train net is trained where it is
  std::unique_ptr<RankPipeline> over_ranks_;  ///< null: the train net is whole
  std::optional<Training> training_;          ///< all of these, as the parts below see them
  std::unique_ptr<Timeline> timeline_;        ///< null when none is wanted
  std::unique_ptr<TensorBoard> board_;        ///< on rank 0, while solve() runs; null when none is wanted
  GradientSum sum_;                           ///< until ranked_ has it
  std::unique_ptr<RankedUpdate> ranked_;      ///< null when alone
  std::unique_ptr<TrainPasses> passes_;
  std::unique_ptr<IterationStrategy> strategy_;
  std::unique_ptr<StopConditions> stop_;
  std::unique_ptr<Snapshotter> snapshotter_;
  std::unique_ptr<Tester> tester_;
  std::unique_ptr<LastEpochs> last_epochs_;
  std::unique_ptr<Reporter> reporter_;
};

}  // namespace robusta
