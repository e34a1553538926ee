/// Tests between iterations.
///
/// Every test begins at the first sample of its set, so that tests can be compared with each other. (Caffe goes on
/// where the last test ended, which is the same when test_iter batches are the whole set.) The batches are dealt out to
/// the ranks, one after the other. With eval_type "detection" it is the mean average precision that is shown, of all
/// batches of all ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solver/loop/snapshotter.h"
#include "solver/loop/stop_conditions.h"
#include "solver/loop/training.h"
#include "solver/reports/training_log.h"

namespace robusta {

/// Told the means of every test: with the weights of training, and with their average (ema_decay). Kept by reference.
struct TestReports {
  using OnTest = std::function<void(int net, const std::vector<OutputBlob>& means)>;
  const OnTest &on_test, &on_averaged_test;
};

class Tester {
 public:
  using Nets = std::vector<std::unique_ptr<Net>>;
  /// References are kept.
  Tester(Training& training, Nets& nets, StopConditions& stop, Snapshotter& snapshotter, TrainingLog& log,
         TestReports reports)
      : training_(training), nets_(nets), stop_(stop), snapshotter_(snapshotter), log_(log), reports_(reports) {}

  /// Whether a test comes after the iterations done so far.
  bool due() const;
  /// One pass over every test net's test_iter batches, and another one with averaged weights where there are any; logs
  /// the means. Alone, a request ends it.
  void test_all();
  /// The same at the end of an epoch: no test is due at this iteration then.
  void test_at_end_of_epoch();
  /// The means of the last test of the first net, as the name of a snapshot has them: "_score0_0.91_score1_0.3".
  const std::string& scores() const { return scores_; }
  /// Seconds.
  double slowest() const { return slowest_; }

 private:
  enum class With { kWeights, kAverage };
  void test_nets(With weights);
  void test(size_t index, With weights);
  /// Called after each batch of this rank.
  using OnBatch = std::function<void(int batch)>;
  bool run_batches(size_t index, double& loss, const OnBatch& on_batch);
  bool mean_outputs(size_t index, double& loss, std::vector<OutputBlob>& means);
  bool score_detections(size_t index, double& loss, std::vector<OutputBlob>& means);
  bool interrupted();
  void test_average(WeightAverage& average);

  Training& training_;
  Nets& nets_;
  StopConditions& stop_;
  Snapshotter& snapshotter_;
  TrainingLog& log_;
  TestReports reports_;
  bool averaged_ = false;       ///< the net has its averaged weights
  bool owes_snapshot_ = false;  ///< asked for meanwhile
  std::string scores_;          ///< of the first net's last test, for names of snapshots
  int tested_iter_ = -1;        ///< at the end of an epoch
  double slowest_ = 0;          ///< seconds of a test of all nets
};

}  // namespace robusta
