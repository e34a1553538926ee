// The loop: minibatch gradient descent (Bottou, Curtis and Nocedal 2018, "Optimization Methods for Large-Scale Machine
// Learning", section 3.3), with tests and snapshots between iterations in Caffe's order.
#include "solver/solver.h"

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "solver/files/weights.h"
#include "solver/loop/loss_scaling.h"
#include "solver/pipeline/ranks/gathered_net.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/share.h"
#include "solver/reports/debug_info.h"

namespace robusta {

TrainingResult Solver::solve() {
  snapshotter_->prepare();
  start_tensorboard();
  reporter_->at_start();
  if (options_.from_memory) snapshotter_->write_missed();
  step(def_.param.max_iter() - state_.iter);
  finish_training();
  snapshotter_->release();
  if (timeline_) timeline_->write();
  if (training_->pipeline) {
    const std::string idle = training_->pipeline->describe_idle();  // of all ranks that have stages
    LOG_INFO << idle;
  }
  reporter_->at_end(stop_->stopping() ? stop_->reason() : "max_iter");
  return {.stopped_early = stop_->stopping(), .failed_snapshots = snapshotter_->failed()};
}

void Solver::step(int iterations) {
  const auto end =
      static_cast<int>(std::min<int64_t>(int64_t{state_.iter} + iterations, std::numeric_limits<int>::max()));
  while (state_.iter < end && !stop_->stopping()) {
    if (timeline_) timeline_->at_iteration(state_.iter);
    if (tester_->due() && (state_.iter > 0 || def_.param.test_initialization())) test_all();
    if (stop_->stopping()) break;
    // A program that is told of iterations may look at what they have changed.
    goes_on_ = state_.iter + 1 < end && !on_iteration && !before_iteration;
    after_iteration(train_iteration());
  }
  if (stop_->stopping() && ranks_.alone()) finish_updates();
}

Votes Solver::train_iteration() {
  const int display = def_.param.display();
  const bool display_due = display > 0 && state_.iter % display == 0;
  if (before_iteration) before_iteration();
  const Iteration iteration = plan_iteration(display_due);
  ranks_.progress(state_.iter);
  const DriverSpan span(training_->recorder, TraceKind::kIteration, state_.iter);

  passes_->begin_iteration();
  reporter_->begin_iteration();
  in_iteration_ = true;
  if (ranks_.elastic()) statistics_before_.note(*train_net_);
  const Votes votes = strategy_->run(iteration);
  in_iteration_ = false;
  if (iteration.debug) log_param_norms(*train_net_);
  reporter_->end_iteration(strategy_->take_times());
  update(iteration, display_due);
  if (state_.loss_scale.active()) adapt_loss_scale(*training_);

  if (on_iteration) on_iteration(state_.iter, state_.losses.losses().back(), training_->rate);
  ++state_.iter;
  state_.samples_seen += state_.global_batch;
  return votes;
}

Snapshot Solver::keep(EndOfGeneration::Kind kind) {
  if (options_.tuner) state_.kernel_choices = options_.tuner->choices();
  if (kind == EndOfGeneration::Kind::kInOrder) {
    finish_updates();
    training_->settle_sums();
    const AveragedStatistics averaged(ranks_, *train_net_);
    return snapshot_in_memory(*training_);
  }
  // What the ranks had in transit is lost with the one that is gone: what they have together are whole iterations.
  if (in_iteration_) statistics_before_.put_back(*train_net_);
  state_.compression_left = {};
  return snapshot_in_memory(*training_);
}

WeightsFile Solver::weights() {
  const AveragedStatistics averaged(training_->with_same_net(), *train_net_);
  std::optional<GatheredNet> stages;
  if (over_ranks_) stages.emplace(ranks_, def_, *over_ranks_, *updater_).gather_weights();
  return ranks_.root() ? weights_of(whole_net()) : WeightsFile();
}

double Solver::next_rate() const {
  PolicyState policy = state_.policy;
  return schedule_.rate(state_.iter, state_.losses.mean(), policy);
}

/// With what is shown before it and after; programs may change the gradients first.
void Solver::update(const Iteration& iteration, bool display_due) {
  reporter_->display(display_due);
  if (on_gradients) on_gradients();
  const bool shown = iteration.look && board_;
  if (shown) {
    const double scale = state_.loss_scale.active() ? state_.loss_scale.value : 1;
    board_->before_updates(state_.iter, 1 / (scale * ranks_.summed_gradients() * def_.param.iter_size()));
  }
  strategy_->end(iteration);
  if (shown) board_->after_updates(state_.iter);
}

Iteration Solver::plan_iteration(bool display_due) {
  Iteration iteration;
  iteration.debug = display_due && def_.param.debug_info();
  if (def_.param.debug_info()) set_debug_info(*train_net_, iteration.debug);
  iteration.goes_on = goes_on_;
  iteration.look = options_.tensorboard.looks_at(state_.iter);
  iteration.shows_gradients = iteration.debug || iteration.look || on_gradients;
  iteration.hold = iteration.shows_gradients || state_.loss_scale.active() || updater_->clips() ||
                   updater_->sums_norms() || strategy_->must_hold() || ranks_.elastic();
  return iteration;
}

void Solver::after_iteration(const Votes& votes) {
  stop_->obey(votes);
  reporter_->after_iteration();
  const int check_every = ranks_.options().check_iter;
  if (!ranks_.alone() && check_every > 0 && state_.iter % check_every == 0) {
    finish_updates();
    check_parameters_agree(training_->with_same_net(), *train_net_, state_.iter);
  }
  const bool asked = stop_->take_snapshot_request();
  if (asked || snapshotter_->due()) snapshotter_->try_write();
  if (last_epochs_->end_with(state_.iter) && !stop_->stopping()) end_epoch();
  if (Elastic* const elastic = ranks_.elastic()) {
    elastic->trains = true;
    const bool goes_on = !stop_->stopping() && state_.iter < def_.param.max_iter();
    if (votes.regroup > 0 && goes_on) throw EndOfGeneration(EndOfGeneration::Kind::kInOrder, "new ranks come in");
  }
}

/// One of the last epochs.
void Solver::end_epoch() {
  tester_->test_at_end_of_epoch();
  if (!stop_->stopping()) snapshotter_->try_write(tester_->scores());
}

void Solver::finish_training() {
  finish_updates();
  snapshotter_->write_last(stop_->stopping());
  if (stop_->stopping()) {
    LOG_INFO << "Optimization stopped early.";
    return;
  }
  const int display = def_.param.display();
  if (display > 0 && state_.iter % display == 0) show_last_loss();
  if (tester_->due()) test_all();
  LOG_INFO << "Optimization Done.";
}

/// Caffe shows the loss after the last update by one more forward pass.
void Solver::show_last_loss() {
  passes_->begin_iteration();
  const double loss = ranks_.serves() ? 0 : passes_->forward(passes_->pass(0), ranked_.get());
  double sums[] = {loss, passes_->failed() ? 1.0 : 0.0};
  ranks_.sum(sums);
  passes_->throw_failed(sums[1]);
  state_.losses.add(sums[0] / ranks_.learners());
  log_.final_loss(state_.iter, state_.losses.mean());
}

}  // namespace robusta
