// caffe train: the set-up, then the loop, with signals, the wall time and a progress line around it.

#include <signal.h>

#include <functional>
#include <optional>

#include "app/checks/host_facts.h"
#include "app/commands/commands.h"
#include "app/setup/training_setup.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/launch.h"
#include "comm/liveness/exit_file.h"
#include "comm/liveness/restart_code.h"
#include "solver/files/weights.h"
#include "solver/ranks/share.h"

namespace robusta {
namespace {

void refuse_lost_snapshots(int failed) {
  if (failed == 0) return;
  throw Error(ErrorKind::kOutput, str("training ended, but ", failed, " of its snapshots could not be written"),
              "see the log; the ones that were are whole");
}

/// With the mean of the ranks' statistics, as a snapshot has them.
WeightsFile final_weights(Ranks& ranks, Solver& solver) {
  const AveragedStatistics averaged(ranks, solver.train_net());
  return ranks.root() ? weights_of(solver.train_net()) : WeightsFile();
}

/// Phase after phase, from `first` on, until something stops one.
TrainingResult run_phases(const TrainingSetup& setup, Ranks& ranks, size_t first,
                          const std::function<void()>& training_begins) {
  const size_t phases = setup.phases();
  TrainingResult all;
  WeightsFile weights;
  for (size_t phase = first; phase < phases; ++phase) {
    if (phases > 1) LOG_INFO << "Phase " << phase << " of " << phases;
    const std::unique_ptr<Solver> solver = setup.build_solver(phase, phase > first ? &weights : nullptr);
    weights = {};
    training_begins();
    LOG_INFO << "Starting Optimization";
    const TrainingResult result = solver->solve();
    all.failed_snapshots += result.failed_snapshots;
    all.stopped_early = result.stopped_early;
    if (result.stopped_early) break;
    if (phase + 1 < phases) weights = final_weights(ranks, *solver);
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

int train(const TrainingRun& run) {
  Ranks& ranks = run.ranks;
  TrainingSetup setup(run, "train");
  std::optional<SignalWatch> signals;  // of several learners in this process one looks for them
  if (ranks.root() || !ranks.in_threads()) signals.emplace(setup.sigint(), setup.sighup());
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  ::signal(SIGPIPE, SIG_IGN);  // who reads the log may leave: training goes on without
  setup.read_definition();
  setup.open_device();
  warn_of_hosts(ranks);
  const size_t first = setup.choose_snapshot();
  std::optional<ProgressLine> progress;  // one per process: it takes the sink of all threads' lines
  if (ranks.root()) setup.solver_options().progress = &progress.emplace();
  if (signals) setup.solver_options().poll = [&] { return signals->poll(); };
  const auto begins = [&] {
    if (signals) signals->training_begins();
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
  return run_training_job(options, {.ddl = options.ddl(), .writes_json = true}, train);
}

}  // namespace robusta
