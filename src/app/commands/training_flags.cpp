#include "app/commands/training_flags.h"

#include <cmath>

#include "app/commands/commands.h"
#include "app/commands/flags.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "schema/placeholders.h"
#include "schema/read_text.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

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
  LOG_INFO << "base_lr " << before << " -> " << def.param.base_lr() << " (-lr_scaling " << FLAGS_lr_scaling << ", "
           << ranks << " ranks)";
}

}  // namespace

void check_training_flags(const std::string& action) {
  require_flag(action, "solver", FLAGS_solver);
  if (!FLAGS_snapshot.empty() && FLAGS_snapshot != "auto" && !FLAGS_weights.empty()) {
    throw Error(ErrorKind::kUsage, "both -snapshot and -weights are given",
                "give -snapshot to resume a training, or -weights to fine-tune");
  }
}

SolverDef solver_from_flags(int ranks) {
  SolverDef solver = read_solver(FLAGS_solver);
  caffe::NetState* state = solver.param.mutable_train_state();
  state->set_level(FLAGS_level);
  for (const std::string& stage : stage_flag()) state->add_stage(stage);
  scale_rate(solver, ranks);
  return solver;
}

std::string snapshot_from_flags(const SolverDef& solver, int ranks) {
  if (FLAGS_snapshot != "auto") return FLAGS_snapshot;
  const std::string prefix = with_rank(solver.param.snapshot_prefix(), 0, ranks);
  const std::string newest = newest_snapshot(prefix);
  LOG_INFO << "-snapshot auto: "
           << (newest.empty() ? "no snapshot with prefix " + prefix + ", a fresh start" : "resuming from " + newest);
  return newest;
}

SolverOptions solver_options_from_flags(Ranks& ranks) {
  SolverOptions options;
  options.kernels = kernels_flag();
  options.precision = precision_flag();
  options.share_memory = FLAGS_share_memory;
  options.ranks = &ranks;
  options.batch_is_global = FLAGS_batch == "global";
  options.batch = options.batch_is_global ? 0 : batch_flag();
  options.accept_batch_change = FLAGS_accept_batch_change;
  options.data = data_settings_from_flags();
  options.weights = split_list(FLAGS_weights);
  return options;
}

}  // namespace robusta
