// Setting up a training, in the order in which each step needs what is before it: state, nets, histories, what all
// ranks share, and the parts of the loop.
#include <algorithm>

#include "base/log.h"
#include "schema/placeholders.h"
#include "schema/print.h"
#include "solver/loop/loss_scaling.h"
#include "solver/loop/net_builder.h"
#include "solver/loop/pipeline_checks.h"
#include "solver/loop/resume.h"
#include "solver/loop/solver_checks.h"
#include "solver/loop/step_watch.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/share.h"
#include "solver/ranks/start_checks.h"
#include "solver/reports/detection_score.h"
#include "solver/solver.h"

namespace robusta {
namespace {

/// Intel's placeholders in the names of files.
void name_rank(caffe::SolverParameter& p, const Ranks& ranks) {
  p.set_snapshot_prefix(with_rank(p.snapshot_prefix(), ranks.rank(), ranks.count()));
  if (p.has_train_net()) p.set_train_net(with_rank(p.train_net(), ranks.rank(), ranks.count()));
}

/// Before training, not at its first test.
void check_outputs(const caffe::SolverParameter& p, const std::vector<std::unique_ptr<Net>>& test_nets) {
  if (p.eval_type() != "detection") {
    if (p.has_eval_type()) return;
    const auto hint = [](const auto& net) {
      return hint_at_detections(*net, "eval_type: \"detection\" in the solver");
    };
    (void)std::any_of(test_nets.begin(), test_nets.end(), hint);
    return;
  }
  for (const std::unique_ptr<Net>& net : test_nets) const DetectionScore can_be_made(*net);
}

}  // namespace

Solver::Solver(SolverDef def, SolverOptions options)
    : def_(std::move(def)),
      options_(std::move(options)),
      ranks_(options_.ranks ? *options_.ranks : alone_),
      schedule_(def_),
      log_(options_.json, options_.progress) {
  ranks_.together([&] { check_solver(def_); });
  name_rank(def_.param, ranks_);
  int stages = 1;
  ranks_.together([&] {
    check_pipeline(def_, options_);
    stages = stages_over_ranks(def_, options_);
  });
  ranks_.form_stages(stages);
  LOG_INFO << "Initializing solver from parameters: \n" << text_form(def_.param);
  def_.param.set_iter_size(def_.param.iter_size() * options_.micro_batches);
  const std::shared_ptr<const Snapshot> snapshot = read_snapshot_to_resume(def_, options_, ranks_, state_);
  choose_seed(def_, snapshot != nullptr, ranks_, state_);
  build();
  start_from(snapshot.get());
  assemble();
}

void Solver::build() {
  if (options_.memory.budget) {
    UpdateArrays& update = options_.memory.budget->update;
    update = update_arrays(def_, sharers_of_states(ranks_.options(), ranks_.count()));
    if (options_.device->is_host()) update.per_parameter += arrays_of_slow_momentum(ranks_.options());
  }
  NetBuilder builder(def_, options_, ranks_, state_.seed);
  build_nets(builder);
  Ranks& summing = ranks_.staged() ? ranks_.group() : ranks_;
  if (ranks_.sums_gradients()) sum_ = make_gradient_sum(summing, *train_net_, RankedUpdate::kTail, model_.get());
  Shards* const shards = sum_.sums ? sum_.sums->shards() : nullptr;
  ranks_.together([&] { updater_ = std::make_unique<Updater>(def_, *train_net_, sum_.ranks, shards); });
  training_.emplace(Training{
      .def = def_, .ranks = ranks_, .state = state_, .net = *train_net_, .updater = *updater_, .schedule = schedule_});
  if (ranks_.staged()) {
    over_ranks_ = builder.rank_pipeline(*whole_net_, test_nets_, *train_net_);
    training_->pipeline = training_->over_ranks = over_ranks_.get();
    builder.begin_stages(*over_ranks_, *updater_);
  } else {
    pipeline_ = builder.pipeline(*train_net_, test_nets_, *updater_);
    training_->pipeline = pipeline_.get();
  }
  LOG_INFO << "Solver scaffolding done.";
}

void Solver::build_nets(NetBuilder& builder) {
  if (ranks_.staged()) {
    whole_net_ = builder.whole_net();
    test_nets_ = builder.test_nets(*whole_net_);
    train_net_ = builder.stage_net(*whole_net_, test_nets_);
  } else {
    model_ = builder.model_ranks();
    train_net_ = builder.train_net(model_.get());
    test_nets_ = builder.test_nets(*train_net_);
  }
  ranks_.together([&] { check_outputs(def_.param, test_nets_); });
}

void Solver::start_from(const Snapshot* snapshot) {
  if (snapshot) restore(*snapshot, options_.accept_batch_change || options_.from_memory, *training_);
  check_same_data(ranks_, training_->whole());
  if (!snapshot && !over_ranks_) share_parameters(ranks_, *train_net_);
  ranks_.together([&] {
    begin_loss_scale(*training_);
    if (!ranks_.alone() && ranks_.options().shard == Shard::kGradients) check_sharded_gradients(*training_);
    if (has_local_steps(ranks_.options())) check_local_steps(*training_);
    if (ranks_.options().served.servers > 0) check_served(*training_);
  });
  state_.global_batch = global_batch(*training_);
  if (pipeline_) pipeline_->scatter();
}

void Solver::assemble() {
  tell_ranks(ranks_, nets_that_run());
  if (ranks_.sums_gradients() && !ranks_.serves()) {
    Ranks& summing = ranks_.staged() ? ranks_.group() : ranks_;
    ranked_ = make_ranked_update(summing, *train_net_, *updater_, std::move(sum_));
  }
  // With servers the ranks of a group meet others now and then, and not in each report.
  const bool reports_ranks = ranked_ && ranks_.options().served.servers == 0;
  reporter_ = std::make_unique<Reporter>(*training_, log_, reports_ranks ? ranked_.get() : nullptr);
  if (ranked_ && !reports_ranks) LOG_INFO << "Gradients: " << ranked_->reducer().sums().describe();
  if (!options_.timeline.file.empty()) start_timeline();
  stop_ = std::make_unique<StopConditions>(options_.poll, options_.walltime, [this] { return costs(); });
  passes_ = std::make_unique<TrainPasses>(*training_, on_forward);
  const auto votes = [this] {
    Votes mine = stop_->votes();
    mine.regroup = ranks_.elastic() && ranks_.elastic()->world.somebody_waits() ? 1 : 0;
    return mine;
  };
  const ServerOptions& served = ranks_.options().served;
  const auto make_ranked = served.servers > 0 && !served.in_step() ? make_apart_strategy : make_ranked_strategy;
  strategy_ = over_ranks_       ? make_staged_strategy(*training_, *passes_, ranked_.get(), votes)
              : ranked_         ? make_ranked(*training_, *passes_, *ranked_, votes)
              : ranks_.serves() ? make_server_strategy(*training_, std::move(sum_.sums))
              : pipeline_       ? make_pipelined_strategy(*training_, *passes_, *pipeline_, votes)
                                : make_alone_strategy(*training_, *passes_, votes);
  training_->finish_updates = [this] { strategy_->finish_updates(); };
  if (ranked_) {
    ranked_->begin_with(state_);
    training_->settle_sums = [this] { ranked_->save(state_); };
  }
  state_.compression_left = state_.slow_momentum = {};
  snapshotter_ = std::make_unique<Snapshotter>(*training_, options_.tuner, log_);
  tester_ = std::make_unique<Tester>(*training_, test_nets_, *stop_, *snapshotter_, log_,
                                     TestReports{on_test, on_averaged_test});
  last_epochs_ = std::make_unique<LastEpochs>(*training_);
}

std::vector<Net*> Solver::nets_that_run() {
  if (over_ranks_) return over_ranks_->nets();
  std::vector<Net*> nets{train_net_.get()};
  for (const std::unique_ptr<Net>& net : test_nets_) nets.push_back(net.get());
  return nets;
}

void Solver::start_timeline() {
  constexpr size_t kPerBucket = 3;  // posted, waited for, updated
  const size_t buckets = ranked_ ? ranked_->reducer().buckets().size() : train_net_->params().size();
  const size_t steps = train_net_->plan().steps.size() * static_cast<size_t>(def_.param.iter_size());
  timeline_ = std::make_unique<Timeline>(ranks_, options_.timeline, steps + kPerBucket * buckets);
  training_->recorder = &timeline_->recorder();
  if (ranked_) ranked_->record_in(timeline_->recorder());
  record_steps(*training_);
}

void Solver::start_tensorboard() {
  if (options_.tensorboard.folder.empty()) return;
  ranks_.root_only([&] {
    board_ = std::make_unique<TensorBoard>(options_.tensorboard, def_, training_->whole());
    log_.listen(board_.get());
  });
}

Costs Solver::costs() const {
  const bool tests = tester_->due() || last_epochs_->end_with(state_.iter + 1);
  return {.iteration = reporter_->slowest_iteration(),
          .test = tests ? tester_->slowest() : 0,
          .snapshot = snapshotter_->seconds()};
}

}  // namespace robusta
