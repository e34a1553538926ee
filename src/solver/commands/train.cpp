#include <signal.h>

#include <glog/logging.h>

#include "base/str.h"
#include "schema/read_text.h"
#include "solver/commands/commands.h"
#include "solver/commands/flags.h"
#include "solver/solver.h"
#include "solver/weights.h"

namespace robusta {
namespace {

SolverDef solver_from_flags() {
  SolverDef solver = read_solver(FLAGS_solver);
  caffe::NetState* state = solver.param.mutable_train_state();
  state->set_level(FLAGS_level);
  for (const std::string& stage : stage_flag()) state->add_stage(stage);
  return solver;
}

/// The state to go on from, "" for a fresh start.
std::string snapshot_from_flags(const SolverDef& solver) {
  if (FLAGS_snapshot != "auto") return FLAGS_snapshot;
  const std::string& prefix = solver.param.snapshot_prefix();
  const std::string newest = newest_snapshot(prefix);
  LOG(INFO) << "-snapshot auto: "
            << (newest.empty() ? "no snapshot with prefix " + prefix + ", a fresh start" : "resuming from " + newest);
  return newest;
}

void check_flags() {
  require_flag("train", "solver", FLAGS_solver);
  if (!FLAGS_snapshot.empty() && FLAGS_snapshot != "auto" && !FLAGS_weights.empty()) {
    throw Error(ErrorKind::kUsage, "both -snapshot and -weights are given",
                "give -snapshot to resume a training, or -weights to fine-tune");
  }
}

int train(const Walltime& walltime, JsonLog& json) {
  check_flags();
  SignalWatch signals(parse_effect("sigint_effect", FLAGS_sigint_effect),
                      parse_effect("sighup_effect", FLAGS_sighup_effect));
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  SolverOptions options;
  options.kernels = kernels_flag();
  options.share_memory = FLAGS_share_memory;
  options.batch = batch_flag();
  options.tuner = tuner.get();
  options.weights = split_list(FLAGS_weights);
  options.json = &json;
  options.walltime = &walltime;
  options.poll = [&] { return signals.poll(); };
  SolverDef def = solver_from_flags();
  LOG(INFO) << "Use CPU.";
  options.snapshot = snapshot_from_flags(def);
  ProgressLine progress;
  options.progress = &progress;
  Solver solver(std::move(def), options);
  LOG(INFO) << "Starting Optimization";
  const TrainingResult result = solver.solve();
  LOG(INFO) << "Optimization Done.";
  if (result.failed_snapshots == 0) return 0;
  throw Error(ErrorKind::kOutput,
              str("training ended, but ", result.failed_snapshots, " of its snapshots could not be written"),
              "see the log; the ones that were are whole");
}

}  // namespace

int train_command() {
  const Walltime walltime(parse_walltime(FLAGS_max_walltime));
  JsonLog json(FLAGS_log_json);
  try {
    return train(walltime, json);
  } catch (const Error& error) {
    log_error_event(json, error);
    throw;
  }
}

}  // namespace robusta
