/// Sums in two halves: gradients are summed for those who update them, and the updated weights are handed to all.
///
/// Each sum of Li et al.'s buckets is a reduce-scatter and an all-gather. Where the ranks share out the update, the
/// second half carries weights in place of gradients, as many bytes (Rajbhandari et al. 2020, "ZeRO", section 7.2.1):
///
///   complete(b)   gradients, tail: as StagedSum's.  weights: this rank's own, updated, are copied to where they travel
///   sum(b)        gradients: reduce-scatter.        weights: all-gather
///   deliver(b)    gradients: on a device, its own elements come back.  weights: those of the others replace the old
///                 ones in the parameters
#pragma once

#include <unordered_map>

#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/carrying_sum.h"
#include "solver/update/shards.h"

namespace robusta {

class ShardedSum : public CarryingSum, public Shards {
 public:
  /// `gradients`: without tail; `tail`: a bucket of it. Ranks and net are kept by reference. REQUIRES: halves.
  ShardedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> halves,
             std::vector<std::string> notes);

  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  Shards* shards() override { return this; }
  void begin_round(Gradients wanted) override { whole_ = wanted == Gradients::kWhole; }
  std::string describe() const override;

  std::optional<ElementRange> own(const Param& param) const override;
  void sum(std::span<double> values) override { ranks_.sum(values); }
  bool gets_whole() const override { return ranks_.root(); }
  std::vector<float> whole(const Param& param, const std::vector<float>& own) override;
  void gather_weights() override;

 private:
  /// Between the parameters and the place where weights travel.
  void take_own(BucketId weights);
  void put_others(BucketId weights);

  Ranks& ranks_;
  std::unordered_map<const Param*, ElementRange> own_;  ///< of the parameter's elements
  bool whole_ = false;                                  ///< the gradients of this round are wanted by all
};

}  // namespace robusta
