/// ShardedSum whose gradients are shared out, too: a rank keeps the sums of its own elements alone (Rajbhandari et al.
/// 2020, "ZeRO", section 5.2, "Pos+g").
///
/// The gradients of a bucket are whole while backward computes them and until they are summed; then this rank's own
/// elements are kept in memory of their own, and other buckets lie where the bucket lay (net/run/gradient_layout.h), on
/// the way back those of weights, too. So a rank has memory for two or three buckets in place of all of them.
///
/// Ranks of a host read and write each other's memory: it changes hands when all of them have met.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "solver/ranks/sums/sharded_sum.h"

namespace robusta {

class ShardedGradients : public ShardedSum {
 public:
  /// The net has options.gradient_buckets of gradients_that_share_memory(). Throws Error{kMemory}.
  ShardedGradients(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> halves,
                   std::vector<std::string> notes);

  void sum(BucketId bucket) override;
  /// Of gradients: this rank's own elements are kept, and the memory is free.
  void deliver(BucketId bucket) override;
  std::span<const BucketId> lies_on(BucketId bucket) const override { return lies_on_[bucket]; }
  /// Throws Error{kUsage} where whole gradients are wanted: no rank has them.
  void begin_round(Gradients wanted) override;
  std::string describe() const override;
  void* own_gradient(const Param& param) const override { return kept_.at(&param); }

 private:
  void keep_own_elements();
  void find_shared_memory();

  DeviceBuffer sums_;                             ///< of the own elements of all gradients
  std::unordered_map<const Param*, void*> kept_;  ///< where those of a parameter are
  IdVector<BucketId, std::vector<BucketId>> lies_on_;
};

}  // namespace robusta
