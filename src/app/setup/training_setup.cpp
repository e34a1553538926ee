// Larger global batches usually want a larger rate: in proportion (Goyal et al. 2017, section 2.1), or by the root of
// it (Krizhevsky 2014).

#include "app/setup/training_setup.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/nearest.h"
#include "comm/launch.h"
#include "schema/placeholders.h"
#include "schema/read_text.h"
#include "solver/files/ignored.h"
#include "solver/files/weights.h"
#include "solver/ranks/job.h"
#include "solver/ranks/start_checks.h"

namespace robusta {
namespace {

void check_flags(const Options& options, const std::string& action) {
  require_flag(action, "solver", options.solver());
  if (!options.snapshot().empty() && options.snapshot() != "auto" && !options.weights().empty()) {
    throw Error(ErrorKind::kUsage, "both -snapshot and -weights are given",
                "give -snapshot to resume a training, or -weights to fine-tune");
  }
}

double rate_factor(const std::string& scaling, int ranks) {
  if (scaling == "none") return 1;
  if (scaling == "linear") return ranks;
  if (scaling == "sqrt") return std::sqrt(ranks);
  throw Error(ErrorKind::kUsage, "-lr_scaling \"" + scaling + "\"" + did_you_mean(scaling, {"linear", "sqrt", "none"}),
              "known: linear, sqrt, none");
}

std::string snapshot_to_resume(const Options& options, const SolverDef& solver, int ranks) {
  if (options.snapshot() != "auto") return options.snapshot();
  const std::string prefix = with_rank(solver.param.snapshot_prefix(), 0, ranks);
  const std::string newest = newest_snapshot(prefix);
  LOG_INFO << "-snapshot auto: "
           << (newest.empty() ? "no snapshot with prefix " + prefix + ", a fresh start" : "resuming from " + newest);
  return newest;
}

}  // namespace

int run_training_job(const Options& options, const TrainingJob& job,
                     const std::function<int(const TrainingRun&)>& body) {
  const Walltime walltime(parse_walltime(options.max_walltime()));
  const auto run = [&](Ranks& ranks) {
    JsonLog json(ranks.root() ? job.log_json : "");
    try {
      return body({ranks, walltime, json});
    } catch (const Error& error) {
      log_error_event(json, error);
      throw;
    }
  };
  // Under MPI a rank has one GPU, and ranks find theirs together.
  const size_t gpus = own_launch().ranks > 1 ? 1 : DeviceChoice(options).ordinals().size();
  return run_job(job.ddl, run, static_cast<int>(std::max<size_t>(gpus, 1)));
}

TrainingSetup::TrainingSetup(const Options& options, const TrainingRun& run, const std::string& action)
    : options_(options), ranks_(run.ranks), devices_(options) {
  ranks_.together([&] {
    check_flags(options_, action);
    sigint_ = parse_effect("sigint_effect", options_.sigint_effect());
    sighup_ = parse_effect("sighup_effect", options_.sighup_effect());
    rate_factor(options_.lr_scaling(), 1);
    SolverOptions& solver = solver_options_;
    solver.kernels = options_.kernels();
    solver.precision = precision_flag(options_);
    solver.share_memory = options_.share_memory();
    solver.ranks = &ranks_;
    solver.batch_is_global = options_.batch() == "global";
    solver.batch = solver.batch_is_global ? 0 : batch_flag(options_);
    solver.data = data_settings(options_);
    solver.accept_batch_change = options_.accept_batch_change();
    solver.weights = split_list(options_.weights());
    solver.timeline = parse_timeline(options_.timeline());
    solver.json = &run.json;
    solver.walltime = &run.walltime;
  });
}

void TrainingSetup::read_definition() {
  ranks_.together([&] {
    solver_ = read_solver(options_.solver());
    caffe::NetState* state = solver_.param.mutable_train_state();
    state->set_level(options_.level());
    for (const std::string& stage : stage_flag(options_)) state->add_stage(stage);
    scale_rate();
  });
  check_same_program(ranks_, solver_);
  check_same_flags(ranks_, flags_of_the_job(options_));
  ranks_.root_only([&] { warn_of_ignored_fields(solver_, true); });
}

void TrainingSetup::scale_rate() {
  const double factor = rate_factor(options_.lr_scaling(), ranks_.count());
  if (factor == 1) return;
  const float before = solver_.param.base_lr();
  solver_.param.set_base_lr(static_cast<float>(before * factor));
  for (float& rate : *solver_.param.mutable_stagelr()) rate = static_cast<float>(rate * factor);
  LOG_INFO << "base_lr " << before << " -> " << solver_.param.base_lr() << " (-lr_scaling " << options_.lr_scaling()
           << ", " << ranks_.count() << " ranks)";
}

void TrainingSetup::open_device(Timing timing) {
  devices_.follow(solver_);
  nets_ = set_up_nets(options_, ranks_, devices_.open(ranks_));
  if (timing == Timing::kNone) nets_.tuner.reset();
  solver_options_.device = nets_.device.get();
  solver_options_.memory = nets_.memory;
  solver_options_.tuner = nets_.tuner.get();
}

void TrainingSetup::choose_snapshot() {
  std::string& snapshot = solver_options_.snapshot;
  ranks_.root_only([&] { snapshot = snapshot_to_resume(options_, solver_, ranks_.count()); });
  ranks_.broadcast(snapshot);
}

std::unique_ptr<Solver> TrainingSetup::build_solver() { return std::make_unique<Solver>(solver_, solver_options_); }

}  // namespace robusta
