/// Sums of gradients in the memory of the GPUs, by NCCL.
///
/// On a stream of its own, which waits for the event "bucket complete" while backward goes on; the update of a bucket
/// waits for the event "bucket summed" in the net's stream. The host waits for nothing but the tail of the last bucket.
/// The inner dimensions are NCCL's: reduce-scatter over each in turn and all-gather back. Where there are outer ones,
/// the part that is left goes by way of host memory to a communicator's reduction and back.
///
/// When a sum fails or does not end, everything is aborted on the thread that notices, before it throws: what other
/// streams wait for then ends.
#pragma once

#include <chrono>

#include "net/net.h"
#include "solver/ranks/sums/bucket_sum.h"
#include "solver/ranks/sums/nccl/nccl_comm.h"

namespace robusta {

struct NcclDimension {
  std::string name;  ///< "X (4 ranks, within a host)"
  std::shared_ptr<NcclComm> comm;
};

class NcclSum : public BucketSum {
 public:
  /// `dimensions`: innermost first, at least one. `between`: over the ranks that hold the same part after those; null
  /// when there are none. The net is kept by reference.
  NcclSum(Net& net, Buckets buckets, std::vector<NcclDimension> dimensions, std::unique_ptr<AllReduce> between,
          NcclPatience patience, std::vector<std::string> notes);
  ~NcclSum() override;

  void* tail() const override { return tail_.get(); }
  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  bool waits_on_gpu() const override { return true; }
  bool under_way() const override { return first_open_ < next_; }
  void check() override;
  std::string describe() const override;
  std::vector<std::string> notes() const override;
  std::vector<DimensionTime> take_times() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Progress {
    std::shared_ptr<Event> complete, begun, summed;
  };

  void enqueue(BucketId bucket);
  void reduce(const Span& span, size_t depth);
  void reduce_between(const Span& span);
  void wait_for(Event& event);
  /// Notes which sums have ended.
  void look();
  bool ended() noexcept;
  void abort() noexcept;

  Net& net_;
  DType type_;
  std::vector<NcclDimension> dimensions_;
  std::unique_ptr<AllReduce> between_;  ///< outer dimensions that NCCL does not sum; null: none
  NcclPatience patience_;
  std::vector<std::string> notes_;
  std::shared_ptr<void> tail_, staging_;
  std::unique_ptr<Stream> stream_;  ///< goes before the memory that its work may still use
  IdVector<BucketId, Progress> progress_;
  BucketId next_{0}, first_open_{0};  ///< of this round: to be enqueued, to end; the reducer's
  Clock::time_point moved_;           ///< when first_open_ last grew, or grew from nothing under way
  double seconds_ = 0, bytes_ = 0;    ///< since the last report
};

}  // namespace robusta
