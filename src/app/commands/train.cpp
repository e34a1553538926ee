#include <signal.h>

#include <optional>

#include "app/checks/host_facts.h"
#include "app/commands/commands.h"
#include "app/commands/devices.h"
#include "app/commands/flags.h"
#include "app/commands/memory_flags.h"
#include "app/commands/training_flags.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/launch.h"
#include "solver/ranks/job.h"
#include "solver/ranks/start_checks.h"
#include "solver/solver.h"

namespace robusta {
namespace {

int train(Ranks& ranks, const Walltime& walltime, JsonLog& json) {
  check_training_flags("train");
  // Of several learners in this process one looks for signals.
  std::optional<SignalWatch> signals;
  if (ranks.root() || !ranks.in_threads()) {
    signals.emplace(parse_effect("sigint_effect", FLAGS_sigint_effect),
                    parse_effect("sighup_effect", FLAGS_sighup_effect));
  }
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  SolverOptions options = solver_options_from_flags(ranks);
  options.tuner = tuner.get();
  options.json = &json;
  options.walltime = &walltime;
  options.timeline = parse_timeline(FLAGS_timeline);
  if (signals) options.poll = [&] { return signals->poll(); };
  SolverDef def;
  ranks.together([&] { def = solver_from_flags(ranks.count()); });
  check_same_program(ranks, def);
  check_same_flags(ranks, flags_of_the_job());
  heed_solver_mode(def);
  const std::shared_ptr<Device> device = device_of_rank(ranks);
  options.device = device.get();
  ranks.together([&] { options.memory = memory_options_from_flags(*device, processes_of_host(ranks)); });
  warn_of_hosts(ranks);
  ranks.root_only([&] { options.snapshot = snapshot_from_flags(def, ranks.count()); });
  ranks.broadcast(options.snapshot);
  ProgressLine progress;
  if (ranks.root()) options.progress = &progress;
  Solver solver(std::move(def), options);
  LOG_INFO << "Starting Optimization";
  const TrainingResult result = solver.solve();
  LOG_INFO << "Optimization Done.";
  ranks.root_only([&] {
    if (result.failed_snapshots == 0) return;
    throw Error(ErrorKind::kOutput,
                str("training ended, but ", result.failed_snapshots, " of its snapshots could not be written"),
                "see the log; the ones that were are whole");
  });
  return 0;
}

}  // namespace

int train_command() {
  const Walltime walltime(parse_walltime(FLAGS_max_walltime));
  const auto body = [&](Ranks& ranks) {
    JsonLog json(ranks.root() ? FLAGS_log_json : "");
    try {
      return train(ranks, walltime, json);
    } catch (const Error& error) {
      log_error_event(json, error);
      throw;
    }
  };
  // Under MPI a rank has one GPU, and ranks find theirs together.
  const int learners = own_launch().ranks > 1 ? 1 : static_cast<int>(std::max<size_t>(gpus_flag().size(), 1));
  return run_job(FLAGS_ddl, body, learners);
}

}  // namespace robusta
