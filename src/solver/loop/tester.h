/// Tests between iterations.
///
/// Every test begins at the first sample of its set, so that tests can be compared with each other. (Caffe goes on
/// where the last test ended, which is the same when test_iter batches are the whole set.) The batches are dealt out to
/// the ranks, one after the other. With eval_type "detection" it is the mean average precision that is shown, of all
/// batches of all ranks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "solver/loop/snapshotter.h"
#include "solver/loop/stop_conditions.h"
#include "solver/loop/training.h"
#include "solver/reports/training_log.h"

namespace robusta {

class Tester {
 public:
  /// Told what every test has come to.
  using OnTest = std::function<void(int net, const std::vector<OutputBlob>& means)>;
  using Nets = std::vector<std::unique_ptr<Net>>;
  /// References are kept.
  Tester(Training& training, Nets& nets, StopConditions& stop, Snapshotter& snapshotter, TrainingLog& log,
         const OnTest& on_test)
      : training_(training), nets_(nets), stop_(stop), snapshotter_(snapshotter), log_(log), on_test_(on_test) {}

  /// Whether a test comes after the iterations done so far.
  bool due() const;
  /// One pass over every test net's test_iter batches; logs the means. Alone, a request ends it.
  void test_all();
  /// Seconds.
  double slowest() const { return slowest_; }

 private:
  void test(size_t index);
  /// Called after each batch of this rank.
  using OnBatch = std::function<void(int batch)>;
  bool run_batches(size_t index, double& loss, const OnBatch& on_batch);
  bool mean_outputs(size_t index, double& loss, std::vector<OutputBlob>& means);
  bool score_detections(size_t index, double& loss, std::vector<OutputBlob>& means);
  bool interrupted();

  Training& training_;
  Nets& nets_;
  StopConditions& stop_;
  Snapshotter& snapshotter_;
  TrainingLog& log_;
  const OnTest& on_test_;
  double slowest_ = 0;
};

}  // namespace robusta
