#include <algorithm>
#include <chrono>

#include <glog/logging.h>

#include "solver/solver.h"

namespace robusta {
namespace {

void add(std::vector<OutputBlob>& sums, const std::vector<OutputBlob>& outputs) {
  if (sums.empty()) {
    sums = outputs;
    return;
  }
  for (size_t b = 0; b < sums.size(); ++b) {
    for (size_t i = 0; i < sums[b].values.size(); ++i) sums[b].values[i] += outputs[b].values[i];
  }
}

}  // namespace

void Solver::test_all() {
  const auto start = std::chrono::steady_clock::now();
  for (size_t net = 0; net < test_nets_.size() && !stopping_; ++net) test(net);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  slowest_test_ = std::max(slowest_test_, seconds);
}

/// Every test begins at the first sample of its set, so that tests can be compared with each other. (Caffe goes on
/// where the last test ended, which is the same when test_iter batches are the whole set.)
void Solver::test(size_t index) {
  LOG(INFO) << "Iteration " << state_.iter << ", Testing net (#" << index << ")";
  Net& net = *test_nets_[index];
  const auto start = std::chrono::steady_clock::now();
  const int batches = def_.param.test_iter(static_cast<int>(index));
  const auto batch = static_cast<uint64_t>(net.batch());
  std::vector<OutputBlob> sums;
  double loss = 0;
  for (int i = 0; i < batches; ++i) {
    const Request request = take_request();
    if (request == Request::kSnapshot) try_snapshot();
    if (stopping_) {
      LOG(INFO) << "Test interrupted.";
      return;
    }
    const uint64_t first = static_cast<uint64_t>(i) * batch, next = i + 1 < batches ? first + batch : 0;
    loss += net.forward({state_.seed, first, next, net.batch()});
    add(sums, read_outputs(net));
  }
  for (OutputBlob& blob : sums) {
    for (double& value : blob.values) value /= batches;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log_.test(state_.iter, static_cast<int>(index), def_.param.test_compute_loss(), loss / batches, sums, seconds);
}

}  // namespace robusta
