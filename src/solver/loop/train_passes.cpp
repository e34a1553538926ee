// Positions count samples over all ranks, so data, crops and dropout are those of one rank with the global batch.
#include "solver/loop/train_passes.h"

#include <cmath>

#include "solver/loop/loss_report.h"

namespace robusta {

Pass TrainPasses::pass(int sub_iteration) const {
  Ranks& all = training_.ranks;
  const auto batch = static_cast<uint64_t>(training_.batch()), ranks = static_cast<uint64_t>(all.learners());
  const uint64_t part = static_cast<uint64_t>(sub_iteration) * ranks + static_cast<uint64_t>(place_);
  const uint64_t first = training_.state.samples_seen + part * batch;
  return {.seed = training_.state.seed,
          .first_sample = first,
          .next_sample = first + ranks * batch,
          .batch = training_.batch(),
          .ranks = all.step_reduce()};
}

double TrainPasses::forward(const Pass& pass, ParamGate* gate) {
  TraceRecorder* const recorder = training_.recorder;
  const int64_t begin = recorder ? steady_ns() : 0;
  const double waited = training_.net.diagnostics().seconds_waited();
  wait_for_data();
  const double loss = training_.pipeline ? training_.pipeline->forward(pass) : training_.net.forward(pass, gate);
  if (recorder) {
    recorder->end_step();
    recorder->waited_for_data(begin, training_.net.diagnostics().seconds_waited() - waited);
  }
  has_run_ = true;
  return check_loss(loss, pass);
}

/// The first wait is for files that no cache holds yet.
void TrainPasses::wait_for_data() {
  training_.ranks.doing("waiting for data", has_run_ ? Activity::kComputing : Activity::kPausing);
}

void TrainPasses::start_forward(const Pass& pass, PassPrelude* prelude) {
  wait_for_data();
  training_.net.start_forward(pass, nullptr, prelude);
}

double TrainPasses::finish_forward(const Pass& pass) {
  const double loss = training_.net.finish_forward();
  has_run_ = true;
  return check_loss(loss, pass);
}

double TrainPasses::forward_and_backward_ahead(int sub_iteration, PassPrelude* prelude) {
  const Pass now = pass(sub_iteration);
  training_.net.start_forward(now, nullptr, prelude);
  training_.net.backward(now, sub_iteration > 0);
  prefetch_after(sub_iteration);
  return finish_forward(now);
}

void TrainPasses::prefetch_after(int sub_iteration) {
  const caffe::SolverParameter& p = training_.param();
  if (sub_iteration + 1 == p.iter_size() && training_.state.iter + 1 >= p.max_iter()) return;
  training_.ranks.doing("waiting for data");
  training_.net.prefetch(pass(sub_iteration + 1));
}

double TrainPasses::check_loss(double loss, const Pass& pass) {
  if (on_forward_) on_forward_(loss);
  if (std::isfinite(loss)) return loss;
  if (!failure_) failure_ = not_finite_error(training_, loss, pass);
  if (training_.ranks.alone()) throw *failure_;
  return 0;
}

void TrainPasses::throw_failed(double ranks) {
  if (ranks == 0) return;
  training_.ranks.together([&] {
    if (failure_) throw *failure_;
  });
}

void TrainPasses::throw_failed_here(double ranks) {
  if (ranks == 0) return;
  if (failure_) throw *failure_;
  throw Error(
      ErrorKind::kNumeric,
      "the pass of another rank, whose gradients are summed with this one's, has failed, or its loss is not finite",
      "that rank's message says more");
}

}  // namespace robusta
