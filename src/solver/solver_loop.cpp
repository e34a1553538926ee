#include <algorithm>
#include <cmath>

#include <glog/logging.h>

#include "base/str.h"
#include "solver/debug_info.h"
#include "solver/solver.h"

namespace robusta {

TrainingResult Solver::solve() {
  const caffe::SolverParameter& p = def_.param;
  check_snapshots_possible(def_, *train_net_, *updater_);
  log_.start(describe_start());
  step(p.max_iter() - state_.iter);
  finish_training();
  log_.end(state_.iter, stopping_ ? stop_reason_ : "max_iter", speed_.total());
  return {stopping_, failed_snapshots_};
}

void Solver::step(int iterations) {
  const int end = state_.iter + iterations;
  while (state_.iter < end && !stopping_) {
    if (test_due() && (state_.iter > 0 || def_.param.test_initialization())) test_all();
    if (stopping_) break;
    train_iteration();
    const Request request = take_request();
    const int every = def_.param.snapshot();
    if ((every > 0 && state_.iter % every == 0) || request == Request::kSnapshot) try_snapshot();
    check_walltime();
  }
}

void Solver::finish_training() {
  const caffe::SolverParameter& p = def_.param;
  const bool wanted = p.snapshot_after_train() || stopping_ || snapshot_owed_;
  if (wanted && last_snapshot_iter_ != state_.iter) try_snapshot();
  if (stopping_) {
    LOG(INFO) << "Optimization stopped early.";
    return;
  }
  // Caffe shows the loss after the last update by one more forward pass.
  if (p.display() > 0 && state_.iter % p.display() == 0) {
    state_.losses.add(forward_checked(train_pass(0)));
    log_.final_loss(state_.iter, state_.losses.mean());
  }
  if (test_due()) test_all();
  LOG(INFO) << "Optimization Done.";
}

/// Sub-iteration s of an iteration takes the batch after s others; those of an iteration and of all iterations follow
/// each other without a gap.
Pass Solver::train_pass(int sub_iteration) const {
  const auto batch = static_cast<uint64_t>(train_net_->batch());
  const uint64_t first = state_.samples_seen + static_cast<uint64_t>(sub_iteration) * batch;
  return {state_.seed, first, first + batch, train_net_->batch()};
}

void Solver::train_iteration() {
  Net& net = *train_net_;
  const caffe::SolverParameter& p = def_.param;
  const bool display_due = p.display() > 0 && state_.iter % p.display() == 0;
  const bool debug = display_due && p.debug_info();
  if (p.debug_info()) set_debug_info(net, debug);
  speed_.begin(net.seconds_waited());
  double loss = 0;
  for (int sub = 0; sub < p.iter_size(); ++sub) {
    const Pass pass = train_pass(sub);
    loss += forward_checked(pass);
    const bool last = sub + 1 == p.iter_size();
    if (last) {
      loss /= p.iter_size();
      state_.losses.add(loss);
      begin_update(debug);
    }
    net.backward(pass, sub > 0, last ? updater_.get() : nullptr);
  }
  if (debug) log_param_norms(net);
  slowest_iteration_ =
      std::max(slowest_iteration_, speed_.end(static_cast<int64_t>(state_.global_batch), net.seconds_waited()));
  display(display_due);
  updater_->finish();
  if (on_iteration) on_iteration(state_.iter, loss, rate_);
  ++state_.iter;
  state_.samples_seen += state_.global_batch;
}

void Solver::begin_update(bool hold) {
  rate_ = schedule_.rate(state_.iter, state_.losses.mean(), state_.policy);
  updater_->begin(
      {state_.iter, rate_, schedule_.momentum(state_.iter, rate_), schedule_.weight_decay(state_.iter), hold});
}

double Solver::forward_checked(const Pass& pass) {
  const double loss = train_net_->forward(pass);
  if (!std::isfinite(loss)) report_not_finite(loss, pass);
  if (on_forward) on_forward(loss);
  return loss;
}

void Solver::report_not_finite(double loss, const Pass& pass) {
  PolicyState copy = state_.policy;
  const double rate = schedule_.rate(state_.iter, state_.losses.mean(), copy);
  const NonFinite found = train_net_->find_non_finite(pass);
  std::string samples;
  for (const std::string& key : train_net_->sample_keys(pass, 8)) samples += (samples.empty() ? "" : ", ") + key;
  std::string cause =
      str("the loss is ", std::isnan(loss) ? "nan" : "infinite", " at iteration ", state_.iter, " (lr ", rate, ")");
  if (!found.layer.empty()) cause += str(": the first value that is not finite is ", found.what);
  if (!samples.empty()) cause += "; the batch begins with " + samples;
  Error error(ErrorKind::kNumeric, cause,
              "lower base_lr, begin with a warm-up or set clip_gradients, and look at these samples and their labels; "
              "the last snapshot is from before");
  for (const Node& node : train_net_->graph().nodes) {
    if (node.layer->name() == found.layer) error.in_layer(found.layer).at(node.where.where());
  }
  throw error;
}

TrainingLog::Start Solver::describe_start() const {
  int64_t learnable = 0;
  for (const ParamPtr& param : train_net_->params()) learnable += param->lr_mult != 0 ? param->desc.count() : 0;
  const caffe::SolverParameter& p = def_.param;
  return {train_net_->name(), p.type(),    p.lr_policy(), state_.seed, train_net_->batch(),
          p.iter_size(),      state_.iter, p.max_iter(),  learnable};
}

TrainingLog::Train Solver::describe(const Speed& speed) const {
  const double left = def_.param.max_iter() - state_.iter - 1;
  const double pace = speed_.total().iterations_per_second();
  return {state_.iter,
          def_.param.max_iter(),
          def_.param.display(),
          state_.losses.mean(),
          rate_,
          speed,
          pace > 0 ? left / pace : 0,
          {}};
}

void Solver::display(bool due) {
  if (due) {
    TrainingLog::Train train = describe(speed_.take());
    train.outputs = read_outputs(*train_net_);
    log_.train(train);
  }
  if (log_.wants_progress()) log_.progress(describe(speed_.so_far()));
}

bool Solver::test_due() const {
  const caffe::SolverParameter& p = def_.param;
  return !test_nets_.empty() && p.test_interval() > 0 && (state_.iter - p.test_offset()) % p.test_interval() == 0;
}

Request Solver::take_request() {
  const Request request = options_.poll ? options_.poll() : Request::kNone;
  if (request == Request::kStop) {
    stopping_ = true;
    stop_reason_ = "signal";
  }
  return request;
}

void Solver::check_walltime() {
  if (!options_.walltime || !options_.walltime->limited() || stopping_) return;
  const double needed = slowest_iteration_ + (test_due() ? slowest_test_ : 0) + snapshot_seconds();
  if (options_.walltime->left() > needed) return;
  LOG(INFO) << "Wall time: " << clock_text(options_.walltime->left()) << " left, an iteration and a snapshot take "
            << clock_text(needed) << ": stopping";
  stopping_ = true;
  stop_reason_ = "walltime";
}

}  // namespace robusta
