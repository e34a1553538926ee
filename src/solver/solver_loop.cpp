#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/str.h"
#include "net/non_finite.h"
#include "solver/ranks/share.h"
#include "solver/reports/debug_info.h"
#include "solver/solver.h"

namespace robusta {

TrainingResult Solver::solve() {
  const caffe::SolverParameter& p = def_.param;
  ranks_.root_only([&] {
    check_snapshots_possible(def_, *train_net_, *updater_);
    remove_unfinished_snapshots(p.snapshot_prefix());
  });
  log_.start(describe_start());
  copied_iter_ = state_.iter;
  step(p.max_iter() - state_.iter);
  finish_training();
  if (timeline_) timeline_->write();
  log_.end(state_.iter, stopping_ ? stop_reason_ : "max_iter", speed_.total());
  return {stopping_, failed_snapshots_};
}

void Solver::step(int iterations) {
  const int end = state_.iter + iterations;
  while (state_.iter < end && !stopping_) {
    if (timeline_) timeline_->at_iteration(state_.iter);
    if (test_due() && (state_.iter > 0 || def_.param.test_initialization())) test_all();
    if (stopping_) break;
    heed(train_iteration());
    look_after_ranks();
    const int every = def_.param.snapshot();
    if ((every > 0 && state_.iter % every == 0) || snapshot_asked_) try_snapshot();
    snapshot_asked_ = false;
  }
}

void Solver::finish_training() {
  const caffe::SolverParameter& p = def_.param;
  finish_updates();
  const bool wanted = p.snapshot_after_train() || stopping_ || snapshot_owed_;
  if (wanted && last_snapshot_iter_ != state_.iter) try_snapshot();
  if (stopping_) {
    LOG_INFO << "Optimization stopped early.";
    return;
  }
  // Caffe shows the loss after the last update by one more forward pass.
  if (p.display() > 0 && state_.iter % p.display() == 0) {
    const double loss = forward(train_pass(0));
    double failed = not_finite_ ? 1 : 0;
    ranks_.sum({&failed, 1});
    throw_not_finite(failed);
    state_.losses.add(mean_over_ranks(loss));
    log_.final_loss(state_.iter, state_.losses.mean());
  }
  if (test_due()) test_all();
  LOG_INFO << "Optimization Done.";
}

/// Every sub-iteration takes the next global batch, and each rank its part of it; those of an iteration and of all
/// iterations follow each other without a gap.
Pass Solver::train_pass(int sub_iteration) const {
  const auto batch = static_cast<uint64_t>(train_net_->batch()), ranks = static_cast<uint64_t>(ranks_.count());
  const uint64_t part = static_cast<uint64_t>(sub_iteration) * ranks + static_cast<uint64_t>(ranks_.rank());
  const uint64_t first = state_.samples_seen + part * batch;
  return {state_.seed, first, first + ranks * batch, train_net_->batch(), ranks_.step_reduce()};
}

Votes Solver::train_iteration() {
  Net& net = *train_net_;
  const caffe::SolverParameter& p = def_.param;
  const bool display_due = p.display() > 0 && state_.iter % p.display() == 0;
  const bool debug = display_due && p.debug_info();
  if (p.debug_info()) set_debug_info(net, debug);
  ranks_.progress(state_.iter);
  const TimelineSpan span(timeline_.get(), TraceKind::kIteration, state_.iter);
  speed_.begin(net.diagnostics().seconds_waited());
  const bool scaled = state_.loss_scale.active();
  const bool hold = debug || scaled || updater_->clips() || (ranked_ && schedule_.needs_loss());
  GradientSink* sink = ranked_ ? static_cast<GradientSink*>(ranked_.get()) : updater_.get();
  const bool on_gpu = !net.options().device->is_host() && !debug && !timeline_;
  double loss = 0;
  for (int sub = 0; sub < p.iter_size(); ++sub) {
    const bool last = sub + 1 == p.iter_size();
    if (on_gpu && !ranked_) {
      loss += run_ahead(sub);
      if (last) begin_update(loss / p.iter_size(), hold);
      continue;
    }
    const Pass pass = train_pass(sub);
    loss += forward(pass);
    if (last) begin_update(loss / p.iter_size(), hold);
    backward(pass, sub > 0, last ? sink : nullptr, hold);
    if (on_gpu) prefetch_after(sub);
  }
  const Votes votes = settle(loss / p.iter_size(), hold);
  if (debug) log_param_norms(net);
  const BucketReducer::Times times = ranked_ ? ranked_->reducer().take_times() : BucketReducer::Times{};
  slowest_iteration_ =
      std::max(slowest_iteration_, speed_.end(static_cast<int64_t>(state_.global_batch),
                                              net.diagnostics().seconds_waited(), times.waiting, times.reducing));
  display(display_due);
  if (!ranked_ || hold) finish_updates();
  if (scaled) adapt_loss_scale();
  if (on_iteration) on_iteration(state_.iter, state_.losses.losses().back(), rate_);
  ++state_.iter;
  state_.samples_seen += state_.global_batch;
  return votes;
}

/// A rank alone on a GPU: backward and the next batch are under way before the host waits for the loss, so that the GPU
/// finds work when forward is done. Updates then come after all of backward.
double Solver::run_ahead(int sub_iteration) {
  const Pass pass = train_pass(sub_iteration);
  train_net_->start_forward(pass);
  train_net_->backward(pass, sub_iteration > 0);
  prefetch_after(sub_iteration);
  return heed_loss(train_net_->finish_forward(), pass);
}

/// Nothing after the last pass of the training: what is wrong with a batch that nobody takes is not asked.
void Solver::prefetch_after(int sub_iteration) {
  const bool ends = sub_iteration + 1 == def_.param.iter_size() && state_.iter + 1 >= def_.param.max_iter();
  if (ends) return;
  ranks_.doing("waiting for data");
  train_net_->prefetch(train_pass(sub_iteration + 1));
}

/// Before the last backward of an iteration. A policy that looks at the loss has to know that of all ranks.
void Solver::begin_update(double loss, bool hold) {
  if (!ranked_) state_.losses.add(loss);
  const bool rate_known = !(ranked_ && schedule_.needs_loss());
  if (ranked_) ranked_->finish();
  if (rate_known) set_rate(hold);
  if (ranked_) ranked_->begin(own_votes(loss), hold);
}

void Solver::set_rate(bool hold) {
  rate_ = schedule_.rate(state_.iter, state_.losses.mean(), state_.policy);
  updater_->begin({state_.iter, rate_, schedule_.momentum(state_.iter, rate_), schedule_.weight_decay(state_.iter),
                   hold, state_.loss_scale.value});
}

/// After an iteration. All ranks come to the same conclusion: they looked at the same sums of gradients.
void Solver::adapt_loss_scale() {
  LossScale& scale = state_.loss_scale;
  const double used = scale.value;
  scale.note(!updater_->skipped());
  if (updater_->skipped()) {
    LOG_INFO << "Iteration " << state_.iter << ": gradients are not finite with loss scale " << used
             << ": no update, loss scale " << scale.value << " (skipped steps: " << scale.skipped << ")";
  }
  if (scale.exhausted()) {
    ranks_.together([&] {
      throw Error(ErrorKind::kNumeric,
                  str("at iteration ", state_.iter, " gradients are not finite with any loss scale"),
                  "lower base_lr or set clip_gradients; -precision bf16 or f32 tells whether f16 is the cause");
    });
  }
  train_net_->set_loss_scale(scale.value);
}

/// After backward: what all ranks have to say. From here on the state holds the loss of all.
Votes Solver::settle(double loss, bool hold) {
  if (!ranked_) return own_votes(loss);
  const Votes votes = ranked_->agree();
  throw_not_finite(votes.not_finite);
  state_.losses.add(votes.loss);
  if (schedule_.needs_loss()) set_rate(hold);
  return votes;
}

void Solver::finish_updates() {
  if (ranked_) {
    ranked_->finish();
  } else {
    const TimelineSpan span(timeline_.get(), TraceKind::kUpdate, 0, "the rest");
    updater_->finish();
  }
}

double Solver::forward(const Pass& pass) {
  const int64_t begin = timeline_ ? steady_ns() : 0;
  const double waited = train_net_->diagnostics().seconds_waited();
  // The first wait is for files that no cache holds yet.
  const bool first = speed_.total().iterations == 0;
  ranks_.doing("waiting for data", first ? Activity::kPausing : Activity::kComputing);
  const double loss = train_net_->forward(pass, ranked_.get());
  if (timeline_) {
    timeline_->end_step();
    timeline_->waited_for_data(begin, train_net_->diagnostics().seconds_waited() - waited);
  }
  return heed_loss(loss, pass);
}

/// The loss; alone, throws when it is not finite. One rank of several first tells the others (Votes).
double Solver::heed_loss(double loss, const Pass& pass) {
  if (on_forward) on_forward(loss);
  if (std::isfinite(loss)) return loss;
  if (!not_finite_) not_finite_ = not_finite(loss, pass);
  if (ranks_.alone()) throw *not_finite_;
  return 0;
}

void Solver::backward(const Pass& pass, bool accumulate, GradientSink* sink, bool hold) {
  if (!timeline_) return train_net_->backward(pass, accumulate, sink);
  TimedSink timed(*timeline_, *updater_);
  const bool updates = sink && !ranked_ && !hold;  // ranked updates show themselves
  train_net_->backward(pass, accumulate, updates ? &timed : sink);
  timeline_->end_step();
}

void Solver::throw_not_finite(double ranks) {
  if (ranks == 0) return;
  ranks_.together([&] {
    if (not_finite_) throw *not_finite_;
  });
}

Error Solver::not_finite(double loss, Pass pass) {
  pass.ranks = nullptr;  // the others do not search
  PolicyState copy = state_.policy;
  const double rate = schedule_.rate(state_.iter, state_.losses.mean(), copy);
  const NonFinite found = find_non_finite(*train_net_, pass);
  std::string samples;
  for (const std::string& key : train_net_->diagnostics().sample_keys(pass, 8))
    samples += (samples.empty() ? "" : ", ") + key;
  std::string cause =
      str("the loss is ", std::isnan(loss) ? "nan" : "infinite", " at iteration ", state_.iter, " (lr ", rate, ")");
  if (!ranks_.alone()) cause += str(" on rank ", ranks_.rank());
  if (!found.layer.empty()) cause += str(": the first value that is not finite is ", found.what);
  if (!samples.empty()) cause += "; the batch begins with " + samples;
  Error error(ErrorKind::kNumeric, cause,
              "lower base_lr, begin with a warm-up or set clip_gradients, and look at these samples and their labels; "
              "the last snapshot is from before");
  for (const Node& node : train_net_->graph().nodes) {
    if (node.layer->name() == found.layer) error.in_layer(found.layer).at(node.where.where());
  }
  return error;
}

double Solver::mean_over_ranks(double value) {
  ranks_.sum({&value, 1});
  return value / ranks_.count();
}

TrainingLog::Start Solver::describe_start() const {
  int64_t learnable = 0;
  for (const ParamPtr& param : train_net_->params()) learnable += param->lr_mult != 0 ? param->desc.count() : 0;
  int64_t records = 0;
  for (const Node& node : train_net_->graph().nodes) {
    if (node.source && records == 0) records = node.source->records();
  }
  const caffe::SolverParameter& p = def_.param;
  return {train_net_->name(),  p.type(),       p.lr_policy(), state_.seed,
          train_net_->batch(), ranks_.count(), p.iter_size(), state_.iter,
          p.max_iter(),        learnable,      records,       p.base_lr()};
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
          ranks_.count(),
          reports_ ? reports_->slowest() : -1,
          reports_ ? reports_->slowest_name() : "",
          {},
          state_.loss_scale};
}

void Solver::display(bool due) {
  if (due) {
    if (reports_) reports_->before_display(state_.iter, speed_.total());
    TrainingLog::Train train = describe(speed_.take());
    train.outputs = read_outputs(*train_net_);
    average_over_ranks(train.outputs);
    log_.train(train);
  }
  if (log_.wants_progress()) log_.progress(describe(speed_.so_far()));
}

bool Solver::test_due() const {
  const caffe::SolverParameter& p = def_.param;
  return !test_nets_.empty() && p.test_interval() > 0 && (state_.iter - p.test_offset()) % p.test_interval() == 0;
}

Request Solver::take_request() { return options_.poll ? options_.poll() : Request::kNone; }

Votes Solver::own_votes(double loss) {
  const Request request = take_request();
  Votes votes;
  votes.loss = loss / ranks_.count();
  votes.not_finite = not_finite_ ? 1 : 0;
  votes.stop = request == Request::kStop ? 1 : 0;
  votes.snapshot = request == Request::kSnapshot ? 1 : 0;
  votes.out_of_time = out_of_time() ? 1 : 0;
  return votes;
}

void Solver::heed(const Votes& votes) {
  snapshot_asked_ = votes.snapshot > 0;
  if (votes.stop > 0) {
    stopping_ = true;
    stop_reason_ = "signal";
  } else if (votes.out_of_time > 0) {
    stop_for_walltime();
  }
}

/// After an iteration: what the options of -ddl want to know of all ranks.
void Solver::look_after_ranks() {
  report_copies();
  report_graphs();
  if (!ranked_) return;
  reports_->after_iteration(state_.iter, speed_.total());
  const int every = ranks_.options().check_iter;
  if (every <= 0 || state_.iter % every != 0) return;
  finish_updates();
  check_parameters_agree(ranks_, *train_net_, state_.iter);
}

/// With -dump_iter: what large model support has done since the last report, of rank 0.
void Solver::report_copies() {
  const int every = ranks_.options().dump_iter;
  if (!train_net_->plan().offloading.planned || every <= 0 || state_.iter % every != 0) return;
  const CopyTotals total = train_net_->diagnostics().copies();
  log_.copies({state_.iter, state_.iter - copied_iter_, static_cast<double>(total.bytes_out - copied_.bytes_out),
               static_cast<double>(total.bytes_in - copied_.bytes_in), total.exposed_ms - copied_.exposed_ms});
  copied_ = total;
  copied_iter_ = state_.iter;
}

/// When all has been recorded that will be.
void Solver::report_graphs() {
  constexpr int kThen = 3;
  if (train_net_->options().device->is_host() || speed_.total().iterations != kThen) return;
  LOG_INFO << describe_graphs(train_net_->diagnostics().graphs());
}

bool Solver::out_of_time() const {
  if (!options_.walltime || !options_.walltime->limited()) return false;
  return options_.walltime->left() <= slowest_iteration_ + (test_due() ? slowest_test_ : 0) + snapshot_seconds();
}

void Solver::stop_for_walltime() {
  LOG_INFO << "Wall time: " << (options_.walltime ? clock_text(options_.walltime->left()) + " left, " : "")
           << "an iteration and a snapshot take " << clock_text(slowest_iteration_ + snapshot_seconds())
           << ": stopping";
  stopping_ = true;
  stop_reason_ = "walltime";
}

}  // namespace robusta
