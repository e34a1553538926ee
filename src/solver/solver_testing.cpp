#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "solver/ranks/share.h"
#include "solver/solver.h"

namespace robusta {
namespace {

void clear(std::vector<OutputBlob>& outputs) {
  for (OutputBlob& blob : outputs) std::fill(blob.values.begin(), blob.values.end(), 0.0);
}

void add(std::vector<OutputBlob>& sums, const std::vector<OutputBlob>& outputs) {
  for (size_t b = 0; b < sums.size(); ++b) {
    for (size_t i = 0; i < sums[b].values.size(); ++i) sums[b].values[i] += outputs[b].values[i];
  }
}

void sum_over_ranks(Ranks& ranks, std::vector<OutputBlob>& outputs, double& loss) {
  std::vector<double> flat{loss};
  for (const OutputBlob& blob : outputs) flat.insert(flat.end(), blob.values.begin(), blob.values.end());
  ranks.sum(flat);
  auto from = flat.begin();
  loss = *from++;
  for (OutputBlob& blob : outputs) {
    std::copy_n(from, blob.values.size(), blob.values.begin());
    from += static_cast<ptrdiff_t>(blob.values.size());
  }
}

}  // namespace

/// Means over the ranks of what they show.
void Solver::average_over_ranks(std::vector<OutputBlob>& outputs) {
  if (ranks_.alone()) return;
  double unused = 0;
  sum_over_ranks(ranks_, outputs, unused);
  for (OutputBlob& blob : outputs) {
    for (double& value : blob.values) value /= ranks_.count();
  }
}

/// Alone, a request ends a test. Several ranks would first have to agree: they do so after their next iteration.
bool Solver::interrupted() {
  const Votes votes = own_votes(0);
  heed(votes);
  if (snapshot_asked_) try_snapshot();
  snapshot_asked_ = false;
  if (stopping_) LOG_INFO << "Test interrupted.";
  return stopping_;
}

/// The batches of a test are dealt out to the ranks, one after the other.
void Solver::test_all() {
  const AveragedStatistics averaged(ranks_, *train_net_);
  const auto start = std::chrono::steady_clock::now();
  for (size_t net = 0; net < test_nets_.size() && !stopping_; ++net) test(net);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  slowest_test_ = std::max(slowest_test_, seconds);
}

/// Every test begins at the first sample of its set, so that tests can be compared with each other. (Caffe goes on
/// where the last test ended, which is the same when test_iter batches are the whole set.)
void Solver::test(size_t index) {
  LOG_INFO << "Iteration " << state_.iter << ", Testing net (#" << index << ")";
  Net& net = *test_nets_[index];
  const TimelineSpan span(timeline_.get(), TraceKind::kTest, static_cast<int>(index));
  finish_updates();
  const auto start = std::chrono::steady_clock::now();
  const int batches = def_.param.test_iter(static_cast<int>(index));
  const auto batch = static_cast<uint64_t>(net.batch());
  std::vector<OutputBlob> sums = read_outputs(net);  // for their shapes: a rank may have no batch at all
  clear(sums);
  double loss = 0;
  const int step = ranks_.count();
  const auto first_of = [&](int i) { return i < batches ? static_cast<uint64_t>(i) * batch : 0; };
  const auto pass_of = [&](int i) { return Pass{state_.seed, first_of(i), first_of(i + step), net.batch()}; };
  for (int i = ranks_.rank(); i < batches; i += step) {
    if (ranks_.alone() && interrupted()) return;
    ranks_.doing("waiting for the data of a test");
    net.start_forward(pass_of(i));
    if (i + step < batches) net.prefetch(pass_of(i + step));
    loss += net.finish_forward();
    add(sums, read_outputs(net));
  }
  sum_over_ranks(ranks_, sums, loss);
  for (OutputBlob& blob : sums) {
    for (double& value : blob.values) value /= batches;
  }
  if (on_test) on_test(static_cast<int>(index), sums);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log_.test(state_.iter, static_cast<int>(index), def_.param.test_compute_loss(), loss / batches, sums, seconds);
}

}  // namespace robusta
