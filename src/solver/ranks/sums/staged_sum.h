/// Sums over ranks in the memory of their hosts.
///
/// A net on the host has its gradients in the communicator's memory, and they are summed where they lie. One on a GPU
/// has them there, and a range of host memory of the same extents: each bucket is copied to it when its gradients are
/// complete, beside backward, summed, and copied back before the update.
#pragma once

#include "net/net.h"
#include "solver/ranks/sums/bucket_sum.h"

namespace robusta {

class StagedSum : public BucketSum {
 public:
  /// Keeps a reference. The net has its gradients in options.gradient_memory. `notes` come before the reduction's own.
  StagedSum(Net& net, Buckets buckets, std::unique_ptr<AllReduce> all_reduce, std::vector<std::string> notes = {});

  void* tail() const override { return tail_; }
  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  AllReduce* reduction() override { return all_reduce_.get(); }
  std::string describe() const override { return all_reduce_->describe(); }
  std::vector<std::string> notes() const override;
  std::vector<DimensionTime> take_times() override { return all_reduce_->take_times(); }

 protected:
  struct Range {
    void *host, *device;
    size_t bytes;  ///< less the tail, which only the host has
    std::shared_ptr<Event> copied;
  };
  /// Where the net has the gradients of a bucket.
  const void* gradients_at(BucketId bucket) const { return stream_ ? ranges_[bucket].device : buckets_[bucket].data; }

  Net& net_;
  DType type_;
  std::unique_ptr<AllReduce> all_reduce_;
  std::vector<std::string> notes_;
  void* tail_;
  std::shared_ptr<void> pinned_;    ///< keeps the staged gradients page-locked
  std::unique_ptr<Stream> stream_;  ///< null: the net is on the host
  IdVector<BucketId, Range> ranges_;

 private:
  void move_to_host(char* device, char* host);
};

}  // namespace robusta
