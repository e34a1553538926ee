// Gathers from net, state and ranks what the lines of the log are made of; reports/ knows how they look.
#include "solver/loop/reporter.h"

#include <algorithm>

#include "base/log.h"
#include "net/report.h"
#include "schema/print.h"
#include "solver/loop/last_epochs.h"
#include "solver/loop/output_sums.h"

namespace robusta {
namespace {

int64_t learnable_elements(const Net& net) {
  int64_t count = 0;
  for (const ParamPtr& param : net.params()) count += param->lr_mult != 0 ? param->desc.count() : 0;
  return count;
}

}  // namespace

Reporter::Reporter(Training& training, TrainingLog& log, RankedUpdate* ranked) : training_(training), log_(log) {
  if (!ranked) return;
  ranks_ = std::make_unique<RankReports>(training.ranks, ranked->reducer(), training.net.options().dtype, log);
  ranks_->at_start();
}

void Reporter::at_start() {
  const caffe::SolverParameter& p = training_.param();
  const Net& net = training_.whole();
  log_.start({.net = net.name(),
              .solver_type = p.type(),
              .policy = p.lr_policy(),
              .seed = training_.state.seed,
              .batch = net.batch(),
              .ranks = training_.ranks.learners(),
              .iter_size = p.iter_size(),
              .iter = training_.state.iter,
              .max_iter = p.max_iter(),
              .parameters = learnable_elements(net),
              .records = records_of(net),
              .rate = p.base_lr(),
              .settings = text_form(p),
              .stages = training_.ranks.stages()});
  staged_iter_ = copied_iter_ = training_.state.iter;
}

void Reporter::begin_iteration() { speed_.begin(training_.seconds_waited()); }

void Reporter::end_iteration(const BucketReducer::Times& times) {
  const auto samples = static_cast<int64_t>(training_.state.global_batch);
  const double seconds = speed_.end(samples, training_.seconds_waited(), times.waiting, times.reducing);
  slowest_ = std::max(slowest_, seconds);
}

void Reporter::display(bool due) {
  if (due) {
    if (ranks_) ranks_->before_display(training_.state.iter, speed_.total());
    TrainingLog::Train train = describe(speed_.take());
    train.outputs = training_.outputs();
    // Of stages each has its own outputs alone.
    average_over_ranks(training_.over_ranks ? training_.ranks : training_.ranks.group(), training_.ranks.stages(),
                       train.outputs);
    log_.train(train);
  }
  if (log_.wants_progress()) log_.progress(describe(speed_.so_far()));
}

TrainingLog::Train Reporter::describe(const Speed& speed) const {
  const caffe::SolverParameter& p = training_.param();
  // The iteration that is shown is done, but counted only after it.
  const double left = p.max_iter() - training_.state.iter - 1;
  const double pace = speed_.total().iterations_per_second();
  return {.iter = training_.state.iter,
          .max_iter = p.max_iter(),
          .display = p.display(),
          .loss = training_.state.losses.mean(),
          .rate = training_.rate,
          .speed = speed,
          .seconds_left = pace > 0 ? left / pace : 0,
          .ranks = training_.ranks.learners(),
          .slowest = ranks_ ? ranks_->slowest() : -1,
          .slowest_name = ranks_ ? ranks_->slowest_name() : "",
          .outputs = {},
          .loss_scale = training_.state.loss_scale};
}

void Reporter::after_iteration() {
  report_copies();
  report_stages();
  report_graphs();
  if (ranks_) ranks_->after_iteration(training_.state.iter, speed_.total());
}

/// With -dump_iter: what large model support has done since the last report, of rank 0.
void Reporter::report_copies() {
  const int every = training_.ranks.options().dump_iter, iter = training_.state.iter;
  if (!training_.net.plan().offloading.planned || every <= 0 || iter % every != 0) return;
  const CopyTotals total = training_.net.diagnostics().copies();
  log_.copies({.iter = iter,
               .iterations = iter - copied_iter_,
               .bytes_out = static_cast<double>(total.bytes_out - copied_.bytes_out),
               .bytes_in = static_cast<double>(total.bytes_in - copied_.bytes_in),
               .exposed_ms = total.exposed_ms - copied_.exposed_ms});
  copied_ = total;
  copied_iter_ = iter;
}

/// With -dump_iter: what the stages on this pipeline's ranks have sent each other since the last report, and for how
/// long they have waited. Collective where it is due.
void Reporter::report_stages() {
  const int every = training_.ranks.options().dump_iter, iter = training_.state.iter;
  if (!training_.over_ranks || every <= 0 || iter % every != 0) return;
  const RankPipeline::Traffic total = training_.over_ranks->traffic();
  const auto rows = training_.over_ranks->gather({total.bytes - sent_.bytes, total.waited - sent_.waited});
  std::vector<TrainingLog::StageTraffic> stages;
  for (const std::vector<double>& row : rows) stages.push_back({.bytes = row[0], .waited = row[1]});
  log_.stages(iter, iter - staged_iter_, stages);
  sent_ = total;
  staged_iter_ = iter;
}

/// When all has been recorded that will be.
void Reporter::report_graphs() {
  constexpr int kThen = 3;
  if (training_.net.options().device->is_host() || speed_.total().iterations != kThen) return;
  LOG_INFO << describe_graphs(training_.net.diagnostics().graphs());
}

}  // namespace robusta
