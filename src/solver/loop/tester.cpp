// While the host reads the outputs of one batch, the next one is on its way.
//
// A rank takes every n-th batch of a test, n being the ranks, or the pipelines of several each: so the batches, and
// their sum, are those of one rank alone.
#include "solver/loop/tester.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "solver/loop/output_sums.h"
#include "solver/ranks/share.h"
#include "solver/reports/detection_score.h"

namespace robusta {
namespace {

double elapsed_seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A flag that is set while this lives.
class While {
 public:
  explicit While(bool& flag) : flag_(flag) { flag_ = true; }
  ~While() { flag_ = false; }
  While(const While&) = delete;
  While& operator=(const While&) = delete;

 private:
  bool& flag_;
};

std::string scores_of(const std::vector<OutputBlob>& means) {
  std::vector<double> scores;
  for (const OutputBlob& blob : means) scores.insert(scores.end(), blob.values.begin(), blob.values.end());
  return score_text(scores);
}

}  // namespace

bool Tester::due() const {
  const caffe::SolverParameter& p = training_.param();
  return !nets_.empty() && p.test_interval() > 0 && training_.state.iter != tested_iter_ &&
         (training_.state.iter - p.test_offset()) % p.test_interval() == 0;
}

void Tester::test_at_end_of_epoch() {
  scores_.clear();
  test_all();
  tested_iter_ = training_.state.iter;
}

void Tester::test_all() {
  const AveragedStatistics averaged(training_.with_same_net(), training_.net);
  const auto start = std::chrono::steady_clock::now();
  test_nets(With::kWeights);
  WeightAverage* const average = training_.updater.average();
  if (average && average->begun() && !nets_.empty()) test_average(*average);
  slowest_ = std::max(slowest_, elapsed_seconds(start));
}

void Tester::test_average(WeightAverage& average) {
  training_.finish_updates();
  {
    const AveragedWeights weights(average);
    const While now(averaged_);
    if (training_.pipeline) training_.pipeline->scatter();
    test_nets(With::kAverage);
  }
  if (training_.pipeline) training_.pipeline->scatter();
  if (std::exchange(owes_snapshot_, false)) snapshotter_.try_write();
}

void Tester::test_nets(With weights) {
  for (size_t net = 0; net < nets_.size() && !stop_.stopping(); ++net) test(net, weights);
}

void Tester::test(size_t index, With weights) {
  const auto net = static_cast<int>(index);
  const bool averaged = weights == With::kAverage;
  LOG_INFO << "Iteration " << training_.state.iter << (averaged ? ", averaged weights in net (#" : ", Testing net (#")
           << index << ")";
  const DriverSpan span(training_.recorder, TraceKind::kTest, net);
  training_.finish_updates();
  const auto start = std::chrono::steady_clock::now();
  const int batches = training_.param().test_iter(net);
  if (batches == 0) return;  // BVLC's loop over batches is empty then
  std::vector<OutputBlob> means;
  double loss = 0;
  const bool detections = training_.param().eval_type() == "detection";
  if (!(detections ? score_detections(index, loss, means) : mean_outputs(index, loss, means))) return;
  if (index == 0 && !averaged) scores_ = scores_of(means);
  const TestReports::OnTest& report = averaged ? reports_.on_averaged_test : reports_.on_test;
  if (report) report(net, means);
  log_.test({.iter = training_.state.iter,
             .net = net,
             .averaged = averaged,
             .with_loss = training_.param().test_compute_loss(),
             .loss = loss / batches,
             .seconds = elapsed_seconds(start)},
            means);
}

/// These return false when a request has ended the test.
bool Tester::mean_outputs(size_t index, double& loss, std::vector<OutputBlob>& means) {
  const auto outputs = [&] {
    return training_.pipeline ? training_.pipeline->test_outputs(index) : read_outputs(*nets_[index]);
  };
  means = zeros_like(outputs());
  if (!run_batches(index, loss, [&](int) { add(means, outputs()); })) return false;
  sum_over_ranks(training_.ranks, means, loss);
  divide(means, training_.param().test_iter(static_cast<int>(index)));
  return true;
}

bool Tester::score_detections(size_t index, double& loss, std::vector<OutputBlob>& means) {
  const caffe::SolverParameter& p = training_.param();
  Net& net = *nets_[index];
  DetectionScore score(net);
  if (!run_batches(index, loss, [&](int batch) { score.add(net, batch); })) return false;
  training_.ranks.sum({&loss, 1});
  score.gather(training_.ranks);
  means = score.means(*ap_version_named(p.ap_version()), p.show_per_class_result());
  return true;
}

/// This rank's share.
bool Tester::run_batches(size_t index, double& loss, const OnBatch& on_batch) {
  Ranks& ranks = training_.ranks;
  Net& net = *nets_[index];
  const int batches = training_.param().test_iter(static_cast<int>(index)), step = ranks.count() / ranks.stages();
  const auto batch = static_cast<uint64_t>(net.batch());
  // Behind the last batch comes the first one again, as each test begins there.
  const auto first_of = [&](int i) { return i < batches ? static_cast<uint64_t>(i) * batch : 0; };
  const auto pass_of = [&](int i) {
    return Pass{.seed = training_.state.seed,
                .first_sample = first_of(i),
                .next_sample = first_of(i + step),
                .batch = net.batch()};
  };
  for (int i = ranks.learner(); i < batches; i += step) {
    if (ranks.alone() && interrupted()) return false;
    ranks.doing("waiting for the data of a test");
    if (training_.pipeline) {
      loss += training_.pipeline->test(index, pass_of(i));
    } else {
      net.start_forward(pass_of(i));
      if (i + step < batches) net.prefetch(pass_of(i + step));
      loss += net.finish_forward();
    }
    on_batch(i);
  }
  return true;
}

/// Alone, a request ends a test. Several ranks would first have to agree: they do so after their next iteration.
bool Tester::interrupted() {
  stop_.obey(stop_.votes());
  if (stop_.take_snapshot_request()) {
    if (averaged_) {
      owes_snapshot_ = true;
    } else {
      snapshotter_.try_write();
    }
  }
  if (stop_.stopping()) LOG_INFO << "Test interrupted.";
  return stop_.stopping();
}

}  // namespace robusta
