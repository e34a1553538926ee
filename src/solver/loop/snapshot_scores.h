/// The test nets of a solver by themselves, beside a training that goes on elsewhere: they take the weights of its
/// snapshots.
///
/// Scores are those that the training would log at the iteration of the snapshot. One thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/files/snapshot.h"
#include "solver/reports/training_log.h"

namespace robusta {

class SnapshotScores {
 public:
  /// `options`: of a net by itself, in phase TEST. Everything referred to outlives it. Throws Error{kConfig} where the
  /// solver has no test net, and what building a net throws.
  SnapshotScores(const SolverDef& solver, const NetOptions& options, TrainingLog& log);

  /// Tests all nets, and again with the averaged weights where the snapshot has such. `stops`: asked before each batch;
  /// when it says so the test ends without a score. Throws Error{kModel} where the weights do not fit.
  void test(const Snapshot& snapshot, const std::function<bool()>& stops);

 private:
  enum class With { kWeights, kAverage };
  void test(size_t index, const Snapshot& snapshot, With weights, const std::function<bool()>& stops);
  bool run_batches(size_t index, uint64_t seed, const std::function<bool()>& stops,
                   const std::function<void(int, double)>& on_batch);

  const SolverDef& solver_;
  TrainingLog& log_;
  std::vector<std::unique_ptr<Net>> nets_;
};

}  // namespace robusta
