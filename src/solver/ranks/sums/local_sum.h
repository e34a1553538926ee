/// Local SGD: gradients are summed within a group of ranks, and every so many iterations the weights of all groups are
/// averaged (Lin, Stich, Patel and Jaggi 2020, "Don't Use Large Mini-Batches, Use Local SGD", section 5: the
/// hierarchical kind). The group is X, the ranks of a host as a rule, so that between hosts nothing travels but these
/// averages.
///
///   complete(b)   as StagedSum's.           weights: all are copied to where they travel
///   sum(b)        within the group.         tail of a round with averages: over all ranks.  weights: the average
///   deliver(b)    as StagedSum's.           weights: the average, or what slow momentum makes of it, replaces them
#pragma once

#include <optional>

#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/carrying_sum.h"
#include "solver/ranks/sums/periodic_average.h"
#include "solver/ranks/sums/slow_momentum.h"

namespace robusta {

class LocalSum : public CarryingSum, public PeriodicAverage {
 public:
  /// `gradients`: without tail; `tail`: a bucket of it. The net is kept by reference. REQUIRES: `sum` is by dimension.
  LocalSum(const Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
           std::vector<std::string> notes);

  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  PeriodicAverage* periodic_average() override { return this; }
  std::string describe() const override;

  int group() const override { return group_; }
  void plan_round(bool averages) override;
  void set_rate(double rate) override { rate_ = rate; }
  void average_now() override;
  std::vector<float> slow_momentum() const override;
  void set_slow_momentum(const std::vector<float>& values) override;

 private:
  void average(BucketId weights);

  const int ranks_, group_, every_;
  std::optional<SlowMomentum> slow_;
  bool averages_ = false;  ///< this round
  double rate_ = 0;
};

}  // namespace robusta
