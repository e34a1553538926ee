// caffe train: the set-up, then the loop, with signals, the wall time and a progress line around it.

#include <signal.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "app/checks/host_facts.h"
#include "app/commands/commands.h"
#include "app/setup/training_setup.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/launch.h"
#include "comm/liveness/exit_file.h"
#include "comm/liveness/restart_code.h"
#include "solver/files/weights.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/share.h"

namespace robusta {
namespace {

void refuse_lost_snapshots(int failed) {
  if (failed == 0) return;
  throw Error(ErrorKind::kOutput, str("training ended, but ", failed, " of its snapshots could not be written"),
              "see the log; the ones that were are whole");
}

/// What the number of ranks has to divide where batches are global (-batch global).
int64_t batch_to_divide(const Net& net, int ranks) {
  int64_t common = 0;
  for (const Node& node : net.graph().nodes) {
    if (!node.source) continue;
    const std::vector<Shape> tops = node.source->infer_tops({});
    if (!tops.empty() && tops[0].axes() > 0) common = std::gcd(common, tops[0][0] * ranks);
  }
  return common;
}

/// With other ranks the training goes on from here.
void keep_training(Elastic* elastic, Solver& solver, size_t phase, EndOfGeneration::Kind kind) {
  if (!elastic) return;
  const auto keep = [&](EndOfGeneration::Kind how) {
    elastic->kept = {std::make_shared<Snapshot>(solver.keep(how)), phase, solver.def().param.snapshot_prefix()};
  };
  try {
    keep(kind);
  } catch (const EndOfGeneration&) {
    // A rank was lost while all of them settled what they have.
    keep(EndOfGeneration::Kind::kFault);
  }
}

TrainingResult solve(Elastic* elastic, Solver& solver, size_t phase) {
  try {
    const TrainingResult result = solver.solve();
    // Until the last rank has ended, one may be lost.
    keep_training(elastic, solver, phase, EndOfGeneration::Kind::kFault);
    return result;
  } catch (const EndOfGeneration& end) {
    keep_training(elastic, solver, phase, end.kind());
    throw;
  }
}

/// Phase after phase, from `first` on, until something stops one.
TrainingResult run_phases(const TrainingSetup& setup, Ranks& ranks, size_t first,
                          const std::function<void(Solver&)>& training_begins) {
  const size_t phases = setup.phases();
  TrainingResult all;
  WeightsFile weights;
  for (size_t phase = first; phase < phases; ++phase) {
    if (phases > 1) LOG_INFO << "Phase " << phase << " of " << phases;
    const std::unique_ptr<Solver> solver = setup.build_solver(phase, phase > first ? &weights : nullptr);
    weights = {};
    if (ranks.elastic()) ranks.elastic()->kept = {};  // the solver has it now
    training_begins(*solver);
    LOG_INFO << "Starting Optimization";
    const TrainingResult result = solve(ranks.elastic(), *solver, phase);
    all.failed_snapshots += result.failed_snapshots;
    all.stopped_early = result.stopped_early;
    if (result.stopped_early) break;
    if (phase + 1 < phases) weights = solver->weights();
  }
  return all;
}

/// The exit code of a training that was stopped before its end, also for who learns it from a launcher.
int ask_to_be_restarted(const Ranks& ranks) {
  const int code = restart_code();
  if (code != 0 && ranks.root() && !ranks.alone()) {
    write_exit_file(code, 0, "training was stopped before its end; go on with -snapshot auto");
  }
  return code;
}

/// What an elastic job tells of its ranks, and they of the training.
void begin_generation(Ranks& ranks, Solver& solver, bool batch_is_global) {
  Elastic* const elastic = ranks.elastic();
  if (!elastic) return;
  ElasticWorld& world = elastic->world;
  const TrainingState& state = solver.state();
  world.set_batch(batch_is_global ? batch_to_divide(solver.train_net(), ranks.count()) : 0);
  LOG_INFO << "Elastic: generation " << world.generation() << " of " << counted(ranks.count(), "rank") << ", "
           << ranks.topology().describe() << ", global batch " << state.global_batch << ": from iteration "
           << state.iter << " on"
           << (world.seconds_since_end() > 0
                   ? str(", ", std::round(world.seconds_since_end() * 10) / 10, " s after the last one ended")
                   : "");
}

int train(const TrainingRun& run, std::optional<SignalWatch>& signals_of_process) {
  Ranks& ranks = run.ranks;
  TrainingSetup setup(run, "train");
  // Of several learners in this process one looks for signals; where ranks come and go, the watch outlives them.
  SignalWatch* signals = nullptr;
  if (ranks.root() || !ranks.in_threads()) {
    if (!signals_of_process) signals_of_process.emplace(setup.sigint(), setup.sighup());
    signals = &*signals_of_process;
  }
  // The set-up of the first generation has said it all.
  std::optional<QuietLog> quiet;
  if (ranks.elastic() && ranks.elastic()->world.generation() > 1) quiet.emplace();
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  ::signal(SIGPIPE, SIG_IGN);  // who reads the log may leave: training goes on without
  setup.read_definition();
  setup.open_device();
  warn_of_hosts(ranks);
  const size_t first = setup.choose_snapshot();
  std::optional<ProgressLine> progress;  // one per process: it takes the sink of all threads' lines
  if (ranks.root()) setup.solver_options().progress = &progress.emplace();
  if (signals) setup.solver_options().poll = [&] { return signals->poll(); };
  const auto begins = [&](Solver& solver) {
    if (signals) signals->training_begins();
    quiet.reset();
    begin_generation(ranks, solver, setup.solver_options().batch_is_global);
  };
  const TrainingResult result = run_phases(setup, ranks, first, begins);
  LOG_INFO << "Optimization Done.";
  // By which scripts for IBM's Caffe find the end of a job.
  if (!ranks.alone() && !ranks.in_threads()) LOG_INFO << "[MPI:0   ] MPI_Finalize";
  ranks.root_only([&] {
    refuse_lost_snapshots(result.failed_snapshots);
    run.json.require_whole();
  });
  return result.stopped_early ? ask_to_be_restarted(ranks) : 0;
}

}  // namespace

int train_command(const Options& options) {
  if (own_launch().evaluates) return evaluate_command(options);
  std::optional<SignalWatch> signals;
  return run_training_job(options, {.ddl = ddl_of_training(options), .writes_json = true},
                          [&](const TrainingRun& run) { return train(run, signals); });
}

}  // namespace robusta
