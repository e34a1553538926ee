#include <signal.h>

#include <cmath>

#include <glog/logging.h>

#include "base/nearest.h"
#include "base/str.h"
#include "schema/placeholders.h"
#include "schema/read_text.h"
#include "solver/commands/commands.h"
#include "solver/commands/flags.h"
#include "solver/ranks/job.h"
#include "solver/ranks/start_checks.h"
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
std::string snapshot_from_flags(const SolverDef& solver, int ranks) {
  if (FLAGS_snapshot != "auto") return FLAGS_snapshot;
  const std::string prefix = with_rank(solver.param.snapshot_prefix(), 0, ranks);
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

/// Larger global batches usually want a larger rate (Goyal et al. 2017: in proportion).
void scale_rate(SolverDef& def, int ranks) {
  double factor = 1;
  if (FLAGS_lr_scaling == "linear") {
    factor = ranks;
  } else if (FLAGS_lr_scaling == "sqrt") {
    factor = std::sqrt(ranks);
  } else if (FLAGS_lr_scaling != "none") {
    throw Error(ErrorKind::kUsage,
                "-lr_scaling \"" + FLAGS_lr_scaling + "\"" + did_you_mean(FLAGS_lr_scaling, {"linear", "sqrt", "none"}),
                "known: linear, sqrt, none");
  }
  if (factor == 1) return;
  const float before = def.param.base_lr();
  def.param.set_base_lr(static_cast<float>(before * factor));
  for (float& rate : *def.param.mutable_stagelr()) rate = static_cast<float>(rate * factor);
  LOG(INFO) << "base_lr " << before << " -> " << def.param.base_lr() << " (-lr_scaling " << FLAGS_lr_scaling << ", "
            << ranks << " ranks)";
}

void settle_device(const Ranks& ranks) {
  if (ranks.alone()) refuse_gpu();
  LOG(INFO) << (FLAGS_gpu.empty() ? "Use CPU."
                                  : "This build has no GPU support: -gpu is accepted, and all ranks train on the CPU.");
}

int train(Ranks& ranks, const Walltime& walltime, JsonLog& json) {
  check_flags();
  SignalWatch signals(parse_effect("sigint_effect", FLAGS_sigint_effect),
                      parse_effect("sighup_effect", FLAGS_sighup_effect));
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  SolverOptions options;
  options.kernels = kernels_flag();
  options.share_memory = FLAGS_share_memory;
  options.ranks = &ranks;
  options.batch_is_global = FLAGS_batch == "global";
  options.batch = options.batch_is_global ? 0 : batch_flag();
  options.accept_batch_change = FLAGS_accept_batch_change;
  options.tuner = tuner.get();
  options.weights = split_list(FLAGS_weights);
  options.json = &json;
  options.walltime = &walltime;
  options.timeline = parse_timeline(FLAGS_timeline);
  options.poll = [&] { return signals.poll(); };
  SolverDef def;
  ranks.together([&] {
    def = solver_from_flags();
    scale_rate(def, ranks.count());
  });
  check_same_program(ranks, def);
  settle_device(ranks);
  ranks.root_only([&] { options.snapshot = snapshot_from_flags(def, ranks.count()); });
  ranks.broadcast(options.snapshot);
  ProgressLine progress;
  if (ranks.root()) options.progress = &progress;
  Solver solver(std::move(def), options);
  LOG(INFO) << "Starting Optimization";
  const TrainingResult result = solver.solve();
  LOG(INFO) << "Optimization Done.";
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
  return run_job(FLAGS_ddl, [&](Ranks& ranks) {
    JsonLog json(ranks.root() ? FLAGS_log_json : "");
    try {
      return train(ranks, walltime, json);
    } catch (const Error& error) {
      log_error_event(json, error);
      throw;
    }
  });
}

}  // namespace robusta
