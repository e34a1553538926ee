/// Trains a net as a solver.prototxt says: the loop of iterations, tests, snapshots and displays.
///
/// Owns the train net, the test nets (which share its parameters and its memory for activations), the histories and the
/// state. Training positions are counted in samples since training began, so that batches, random crops and dropout are
/// the same after a resume, and for any number of ranks. One thread drives a solver. Files are written by solve() and
/// snapshot() alone, and by rank 0.
///
/// With several ranks every member is collective; each rank takes its part of every global batch, and rank 0's weights,
/// seed and state are everybody's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "net/tuning.h"
#include "schema/source.h"
#include "solver/files/snapshot.h"
#include "solver/files/training_state.h"
#include "solver/loop/signals.h"
#include "solver/loop/walltime.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/reports/rank_reports.h"
#include "solver/reports/speed_meter.h"
#include "solver/reports/timeline/timeline.h"
#include "solver/reports/training_log.h"
#include "solver/update/schedule.h"
#include "solver/update/updater.h"

namespace robusta {

/// What the command line decides beyond the solver's file. Pointers outlive the solver and may be null.
struct SolverOptions {
  DType dtype = DType::kF32;
  std::optional<DType> precision = {};  ///< as in NetOptions
  Device* device = &cpu_device();
  std::string kernels = "auto";  ///< as in NetOptions
  bool share_memory = true;
  MemoryOptions memory = {};         ///< of all nets together
  int64_t batch = 0;                 ///< > 0: replaces every data layer's batch size
  DataSettings data = {};            ///< how the nets' sources read
  Ranks* ranks = nullptr;            ///< those that train together; null: one
  bool batch_is_global = false;      ///< the batch sizes of training are divided among the ranks
  bool accept_batch_change = false;  ///< resume with another number of samples per iteration
  RecordingTuner* tuner = nullptr;
  std::vector<std::string> weights = {};  ///< instead of those of the solver's file
  std::string snapshot = {};              ///< a .solverstate to go on from; then no weights are loaded
  JsonLog* json = nullptr;
  ProgressLine* progress = nullptr;
  TimelineOptions timeline = {};
  const Walltime* walltime = nullptr;
  std::function<Request()> poll = {};  ///< asked between iterations and between batches of a test
};

/// How a training ended.
struct TrainingResult {
  bool stopped_early = false;
  int failed_snapshots = 0;
};

class Solver {
 public:
  /// Builds the nets, loads weights or restores. Throws Error with file and line.
  Solver(SolverDef def, SolverOptions options);

  /// Trains to max_iter, or until a request or the wall time stops it. Throws Error{kNumeric} when the loss is not
  /// finite, and before the first iteration when snapshots cannot be written.
  TrainingResult solve();

  /// Trains for so many iterations, with tests, displays and periodic snapshots, or until something stops it.
  void step(int iterations);

  /// Waits for updates that step() has left under way. REQUIRED before parameters are read.
  void finish_updates();

  /// One pass over every test net's test_iter batches, from the first sample on; logs the means.
  void test_all();

  /// Writes model and state. Throws Error{kOutput|kNumeric}.
  SnapshotPaths snapshot();

  Net& train_net() { return *train_net_; }
  std::vector<std::unique_ptr<Net>>& test_nets() { return test_nets_; }
  Updater& updater() { return *updater_; }
  /// Null when alone.
  RankedUpdate* ranked_update() { return ranked_.get(); }
  const TrainingState& state() const { return state_; }
  const SolverDef& def() const { return def_; }

  /// Told the loss of every forward pass of training, and loss and rate of every iteration.
  std::function<void(double loss)> on_forward;
  std::function<void(int iter, double loss, double rate)> on_iteration;
  /// Told the means of every test.
  std::function<void(int net, const std::vector<OutputBlob>& means)> on_test;

 private:
  // solver_setup.cpp
  std::unique_ptr<Snapshot> read_state_to_resume();
  void settle_seed();
  NetOptions net_options(caffe::Phase phase) const;
  void build_nets();
  void build_train_net(const std::vector<std::string>& weights);
  void tune_on_root(NetOptions options);
  void build_test_nets(const std::vector<std::string>& weights);
  void resume(const Snapshot& snapshot);
  void settle_loss_scale();
  void watch_steps();
  void tell_step(const std::string& layer, bool backward);
  void start_timeline();
  uint64_t global_batch() const;
  void check_global_batch(const Snapshot& snapshot) const;

  // solver_loop.cpp
  Pass train_pass(int sub_iteration) const;
  Votes train_iteration();
  double forward(const Pass& pass);
  double run_ahead(int sub_iteration);
  void prefetch_after(int sub_iteration);
  double heed_loss(double loss, const Pass& pass);
  void backward(const Pass& pass, bool accumulate, GradientSink* sink, bool hold);
  Error not_finite(double loss, Pass pass);
  void throw_not_finite(double ranks);
  void begin_update(double loss, bool hold);
  void set_rate(bool hold);
  Votes settle(double loss, bool hold);
  void adapt_loss_scale();
  Votes own_votes(double loss);
  double mean_over_ranks(double value);
  void average_over_ranks(std::vector<OutputBlob>& outputs);
  void heed(const Votes& votes);
  void look_after_ranks();
  void report_copies();
  void report_graphs();
  void display(bool due);
  TrainingLog::Start describe_start() const;
  TrainingLog::Train describe(const Speed& speed) const;
  bool test_due() const;
  void finish_training();
  Request take_request();
  bool out_of_time() const;
  void stop_for_walltime();

  // solver_testing.cpp
  void test(size_t net);
  bool interrupted();

  // solver_snapshots.cpp
  void try_snapshot();
  double snapshot_seconds() const;

  SolverDef def_;
  SolverOptions options_;
  Ranks alone_;
  Ranks& ranks_;
  Schedule schedule_;
  TrainingLog log_;
  TrainingState state_;
  std::unique_ptr<Net> train_net_;
  std::vector<std::unique_ptr<Net>> test_nets_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<Timeline> timeline_;    ///< null when none is wanted
  std::unique_ptr<RankedUpdate> ranked_;  ///< null when alone
  std::unique_ptr<RankReports> reports_;  ///< the same
  std::optional<Error> not_finite_;       ///< this rank's loss is
  bool snapshot_asked_ = false;
  SpeedMeter speed_;
  CopyTotals copied_;    ///< when they were reported last
  int copied_iter_ = 0;  ///< the iteration of that
  double rate_ = 0;      ///< of the running iteration
  bool stopping_ = false;
  std::string stop_reason_;
  int last_snapshot_iter_ = -1;
  int failed_snapshots_ = 0;
  bool snapshot_owed_ = false;                                              ///< the last one failed
  double slowest_iteration_ = 0, slowest_test_ = 0, slowest_snapshot_ = 0;  ///< seconds
};

}  // namespace robusta
