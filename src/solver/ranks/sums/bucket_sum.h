/// How buckets of gradients become their sums over the ranks.
///
/// Kinds: by way of host memory that a communicator reduces (staged_sum.h; adasum.h); in the memory of the GPUs, by
/// NCCL (nccl/nccl_sum.h) or by a library of the communicator that can (direct_sum.h). Two threads work with one: the
/// driver, which enqueues what the net computes, says what is complete and asks for sums; the reducer's thread
/// (bucket_reducer.h) sums one bucket after the other. A call of one for a bucket comes after the other's calls for it
/// that are listed above. Buckets of weights may follow those of gradients in a round
/// (carrying_sum.h): where ranks share out the update, and where they average their weights.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/all_reduce.h"
#include "solver/ranks/sums/buckets.h"
#include "solver/ranks/sums/periodic_average.h"
#include "solver/update/shards.h"

namespace robusta {

class BucketSum {
 public:
  virtual ~BucketSum() = default;
  const Buckets& buckets() const { return buckets_; }
  /// Host memory for the elements behind the last bucket's gradients: the driver writes them before it is complete, and
  /// reads the sums when it is summed.
  virtual void* tail() const = 0;

  /// Driver: everything that makes the bucket's gradients is enqueued in the net's stream.
  virtual void complete(BucketId bucket) = 0;
  /// Reducer: returns when deliver() may be called; for the last bucket, when the tail is there.
  virtual void sum(BucketId bucket) = 0;
  /// Driver: what is enqueued in the net's stream from now on finds the sums in the place of the gradients.
  virtual void deliver(BucketId bucket) = 0;

  /// The last bucket of a round that holds sums: that with the tail.
  virtual BucketId last_sum() const { return buckets_.end_id() - 1; }
  /// What each rank updates; null: everything.
  virtual Shards* shards() { return nullptr; }
  /// The bucket in which the weights of a bucket's gradients travel. REQUIRES: shards.
  virtual BucketId weights_of(BucketId gradients) const { return gradients; }
  /// Earlier buckets of its kind, of gradients or of weights, in whose memory a bucket lies: it is complete, and
  /// nothing of it written, when these are delivered.
  virtual std::span<const BucketId> lies_on(BucketId bucket) const { return {}; }
  /// Null: gradients are summed over all ranks, in each round.
  virtual PeriodicAverage* periodic_average() { return nullptr; }
  /// Driver, before a round: whether the sums of gradients are wanted by whoever updates them, or by everybody.
  enum class Gradients { kOwn, kWhole };
  virtual void begin_round(Gradients wanted) {}

  /// On the GPU its kernels wait for those of other ranks. A kernel that is loaded meanwhile, as CUDA does when it is
  /// launched first, may wait for them in turn.
  virtual bool waits_on_gpu() const { return false; }

  /// Reducer: sums are under way that nobody waits for; check() is called every few milliseconds then. It throws when
  /// they are known to have failed.
  virtual bool under_way() const { return false; }
  virtual void check() {}

  /// What sums in the memory of the host; null: nothing does.
  virtual AllReduce* reduction() { return nullptr; }

  /// As those of AllReduce. Between rounds.
  virtual std::string describe() const = 0;
  virtual std::vector<std::string> notes() const = 0;
  virtual std::vector<DimensionTime> take_times() = 0;

 protected:
  explicit BucketSum(Buckets buckets) : buckets_(std::move(buckets)) {}

  Buckets buckets_;
};

}  // namespace robusta
