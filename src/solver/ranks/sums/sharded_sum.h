/// Sums in two halves: gradients are summed for those who update them, and the updated weights are handed to all.
///
/// Each sum of Li et al.'s buckets is a reduce-scatter and an all-gather. Where the ranks share out the update, the
/// second half carries weights in place of gradients, as many bytes (Rajbhandari et al. 2020, "ZeRO", section 7.2.1).
/// Buckets of a round, in this order: those of gradients; one of the tail alone, which all ranks get; those of weights,
/// the last of the first kind first, as the next forward begins with their layers. A bucket of weights travels in the
/// memory of its gradients, which are then lost:
///
///   complete(b)   gradients, tail: as StagedSum's.  weights: this rank's own, updated, are copied to where they travel
///   sum(b)        gradients: reduce-scatter.        weights: all-gather
///   deliver(b)    gradients: on a device, its own elements come back.  weights: those of the others replace the old
///                 ones in the parameters
#pragma once

#include <unordered_map>

#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/staged_sum.h"
#include "solver/update/shards.h"

namespace robusta {

class ShardedSum : public StagedSum, public Shards {
 public:
  /// `gradients`: without tail; `tail`: a bucket of it. Ranks and net are kept by reference. REQUIRES: halves.
  ShardedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> halves,
             std::vector<std::string> notes);

  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  BucketId last_sum() const override { return BucketId(gradients_); }
  Shards* shards() override { return this; }
  BucketId weights_of(BucketId gradients) const override { return BucketId(2 * gradients_ - gradients.number()); }
  void begin_round(Gradients wanted) override { whole_ = wanted == Gradients::kWhole; }
  std::string describe() const override;

  std::optional<ElementRange> own(const Param& param) const override;
  void sum(std::span<double> values) override { ranks_.sum(values); }
  std::vector<float> whole(const Param& param, const std::vector<float>& own) override;
  void gather_weights() override;

 private:
  /// A parameter in the memory of a bucket.
  struct Piece {
    Param* param;
    size_t place;      ///< in bytes, from the beginning of the bucket
    ElementRange own;  ///< of the parameter's elements
  };

  void find_pieces(BucketId bucket);
  bool carries_weights(BucketId bucket) const { return bucket > last_sum(); }
  /// Between the parameters and the place where weights travel.
  void take_own(BucketId weights);
  void put_others(BucketId weights);
  void put(const Piece& piece, const std::byte* travelled, ElementRange elements);

  Ranks& ranks_;
  const int gradients_;  ///< buckets
  IdVector<BucketId, std::vector<Piece>> pieces_;
  std::unordered_map<const Param*, ElementRange> own_;
  bool whole_ = false;  ///< the gradients of this round are wanted by all
};

}  // namespace robusta
