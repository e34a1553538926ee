/// The thread that reduces buckets over the ranks while backward goes on.
///
/// Buckets are reduced in their order, on every rank the same, so nothing is negotiated. One driver posts and waits; a
/// posted bucket's memory belongs to the thread until it is reduced. Nothing is allocated after construction.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/all_reduce.h"
#include "solver/ranks/buckets.h"
#include "solver/timeline/trace_ring.h"

namespace robusta {

class BucketReducer {
 public:
  /// `before`: called by the thread before it reduces a bucket; waits for its gradients to have arrived.
  BucketReducer(
      std::unique_ptr<AllReduce> all_reduce, std::vector<Bucket> buckets, DType type,
      std::function<void(size_t bucket)> before = [](size_t) {});
  /// Leaves buckets that are posted and not begun.
  ~BucketReducer();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  AllReduce& all_reduce() { return *all_reduce_; }

  /// A new round: no bucket is posted. REQUIRES: all of the last round are reduced.
  void begin();
  /// The next bucket, in order, has its gradients.
  void post();
  /// How many of the round are reduced. Rethrows what went wrong.
  size_t reduced();
  /// Blocks until the first `count` are.
  void wait(size_t count);

  /// Seconds since the last call: that the thread reduced, and that wait() waited.
  struct Times {
    double reducing = 0, waiting = 0;
  };
  Times take_times();

  /// Where the thread notes its reductions from now on; it outlives them. REQUIRES: all of the last round are reduced.
  void record_in(TraceRing* ring);

 private:
  void run();

  std::unique_ptr<AllReduce> all_reduce_;
  std::vector<Bucket> buckets_;
  DType type_;
  std::function<void(size_t)> before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t posted_ = 0, reduced_ = 0;
  bool ending_ = false;
  std::exception_ptr error_;
  Times times_;
  TraceRing* ring_ = nullptr;
  std::thread thread_;
};

}  // namespace robusta
