// caffe evaluate: scores the snapshots of a training that goes on elsewhere, each as it comes. The training then need
// not stop for tests (test_interval: 0). TensorFlow's launchers call such a process the evaluator.

#include <chrono>
#include <thread>

#include "app/commands/commands.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/liveness/restart_code.h"
#include "schema/phases.h"
#include "solver/loop/signals.h"
#include "solver/loop/snapshot_scores.h"

namespace robusta {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};

SolverDef read_solver_to_evaluate(const Options& options) {
  require_flag("evaluate", "solver", options.solver());
  std::vector<SolverPhase> phases = read_phases(options.solver());
  if (phases.size() > 1) {
    throw Error(ErrorKind::kUnsupported, "evaluate follows one training, and this file has several phases",
                "give a solver file of one of them, with its snapshot_prefix")
        .at(options.solver());
  }
  return std::move(phases.front().solver);
}

/// Those behind iteration `tested`, the oldest first. Of what was there before the first look the newest alone counts.
std::vector<StateFile> new_states(const std::string& prefix, int tested) {
  std::vector<StateFile> states = states_of(prefix);
  std::erase_if(states, [&](const StateFile& state) { return state.iter <= tested; });
  if (tested < 0 && states.size() > 1) states.resize(1);
  return {states.rbegin(), states.rend()};
}

class Evaluation {
 public:
  Evaluation(const SolverDef& solver, SnapshotScores& scores) : solver_(solver), scores_(scores) {
    signals_.training_begins();
  }

  /// Until the last snapshot of the training is scored, or a signal asks for an end. False: the latter.
  bool follow() {
    const std::string& prefix = solver_.param.snapshot_prefix();
    LOG_INFO << "Evaluating snapshots with prefix " << prefix << " as they come, up to iteration "
             << solver_.param.max_iter();
    while (tested_ < solver_.param.max_iter()) {
      for (const StateFile& state : new_states(prefix, tested_)) score(state);
      if (stops()) return false;
      if (tested_ < solver_.param.max_iter()) std::this_thread::sleep_for(kBetweenLooks);
    }
    return true;
  }

 private:
  bool stops() { return signals_.poll() == Request::kStop; }

  /// One that cannot be read now may have been removed: the next one follows.
  void score(const StateFile& state) {
    if (stops()) return;
    tested_ = state.iter;
    try {
      const Snapshot snapshot = read_snapshot(state.path);
      if (snapshot.model_path.empty()) throw Error(ErrorKind::kModel, "the state names no weights").at(state.path);
      scores_.test(snapshot, [this] { return stops(); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kModel) throw;
      LOG_WARNING << "Snapshot passed over: " << error.what();
    }
  }

  const SolverDef& solver_;
  SnapshotScores& scores_;
  SignalWatch signals_{Request::kStop, Request::kNone};
  int tested_ = -1;
};

}  // namespace

int evaluate_command(const Options& options) {
  const SolverDef solver = read_solver_to_evaluate(options);
  Ranks alone;
  DeviceChoice devices(options);
  devices.follow(solver);
  const NetSetup setup = set_up_nets(options, alone, devices.open(alone));
  JsonLog json(options.log_json());
  TrainingLog log(&json, nullptr);
  SnapshotScores scores(solver, setup.net_options(options, caffe::TEST), log);
  const bool whole = Evaluation(solver, scores).follow();
  json.require_whole();
  LOG_INFO << (whole ? "Evaluation Done." : "Evaluation stopped early.");
  return whole ? 0 : restart_code();
}

}  // namespace robusta
