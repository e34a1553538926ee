// As the Tester of a training (tester.h), by one rank alone.
#include "solver/loop/snapshot_scores.h"

#include <chrono>

#include "base/log.h"
#include "solver/files/net_defs.h"
#include "solver/loop/output_sums.h"
#include "solver/reports/detection_score.h"

namespace robusta {

SnapshotScores::SnapshotScores(const SolverDef& solver, const NetOptions& options, TrainingLog& log)
    : solver_(solver), log_(log) {
  for (const NetSource& source : test_nets_of(solver)) {
    NetOptions own = options;
    own.phase = caffe::TEST;
    own.backward = false;
    own.skip_unread = true;
    nets_.push_back(std::make_unique<Net>(source.definition(), own));
  }
  if (nets_.empty()) throw Error(ErrorKind::kConfig, "the solver tests no net", "give test_iter").at(solver.file);
}

void SnapshotScores::test(const Snapshot& snapshot, const std::function<bool()>& stops) {
  for (size_t net = 0; net < nets_.size(); ++net) test(net, snapshot, With::kWeights, stops);
  for (size_t net = 0; snapshot.averaged && net < nets_.size(); ++net) test(net, snapshot, With::kAverage, stops);
}

void SnapshotScores::test(size_t index, const Snapshot& snapshot, With weights, const std::function<bool()>& stops) {
  Net& net = *nets_[index];
  const bool averaged = weights == With::kAverage;
  restore_weights(snapshot, net);
  if (averaged) restore_averaged_weights(snapshot, net);
  LOG_INFO << "Iteration " << snapshot.state.iter() << (averaged ? ", averaged weights in net (#" : ", Testing net (#")
           << index << ")";
  const auto start = std::chrono::steady_clock::now();
  const int batches = solver_.param.test_iter(static_cast<int>(index));
  if (batches == 0) return;
  const bool known = snapshot.state.robusta().has_random_seed();
  const uint64_t seed = known ? snapshot.state.robusta().random_seed() : net.options().seed;
  double loss = 0;
  std::vector<OutputBlob> means;
  if (solver_.param.eval_type() == "detection") {
    DetectionScore score(net);
    const auto add_batch = [&](int batch, double its_loss) { score.add(net, batch), loss += its_loss; };
    if (!run_batches(index, seed, stops, add_batch)) return;
    Ranks alone;
    score.gather(alone);
    means = score.means(*ap_version_named(solver_.param.ap_version()), solver_.param.show_per_class_result());
  } else {
    means = zeros_like(read_outputs(net));
    const auto add_batch = [&](int, double its_loss) { add(means, read_outputs(net)), loss += its_loss; };
    if (!run_batches(index, seed, stops, add_batch)) return;
    divide(means, batches);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log_.test({.iter = snapshot.state.iter(),
             .net = static_cast<int>(index),
             .averaged = averaged,
             .with_loss = solver_.param.test_compute_loss(),
             .loss = loss / batches,
             .seconds = took.count()},
            means);
}

/// With the seed of the training, from which random data are drawn as it draws them.
bool SnapshotScores::run_batches(size_t index, uint64_t seed, const std::function<bool()>& stops,
                                 const std::function<void(int, double)>& on_batch) {
  Net& net = *nets_[index];
  const int batches = solver_.param.test_iter(static_cast<int>(index));
  const auto batch = static_cast<uint64_t>(net.batch());
  for (int i = 0; i < batches; ++i) {
    if (stops()) return false;
    const uint64_t first = static_cast<uint64_t>(i) * batch, next = i + 1 < batches ? first + batch : 0;
    on_batch(i, net.forward({.seed = seed, .first_sample = first, .next_sample = next, .batch = net.batch()}));
  }
  return true;
}

}  // namespace robusta
