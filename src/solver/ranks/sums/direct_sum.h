/// Sums over ranks in the memory of a device that the communicator's own all-reduce takes: -mode m with a CUDA-aware
/// MPI. Buckets are complete, summed and delivered without a copy; only the tail has its place on the host.
#pragma once

#include "net/net.h"
#include "solver/ranks/sums/bucket_sum.h"

namespace robusta {

class DirectSum : public BucketSum {
 public:
  /// The net, on a device, is kept by reference. REQUIRES: communicator.sums_memory_of() its kind.
  DirectSum(Net& net, Buckets buckets, std::unique_ptr<AllReduce> all_reduce);

  void* tail() const override { return tail_.get(); }
  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  /// Nothing: sum() returns when the sums are there.
  void deliver(BucketId) override {}
  std::string describe() const override;
  std::vector<std::string> notes() const override { return all_reduce_->notes(); }
  std::vector<DimensionTime> take_times() override { return all_reduce_->take_times(); }

 private:
  Net& net_;
  DType type_;
  std::unique_ptr<AllReduce> all_reduce_;
  std::shared_ptr<void> tail_;      ///< the host's copy of the last bucket's votes
  std::unique_ptr<Stream> stream_;  ///< for the tail
  IdVector<BucketId, std::shared_ptr<Event>> complete_;
};

}  // namespace robusta
