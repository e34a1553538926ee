/// The thread that sums buckets over the ranks while backward goes on.
///
/// Buckets are reduced in their order, on every rank the same, so nothing is negotiated. One driver posts and waits; a
/// posted bucket's memory belongs to the thread until it is reduced. Nothing is allocated after construction.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "solver/ranks/sums/bucket_sum.h"
#include "solver/trace/trace_ring.h"

namespace robusta {

class BucketReducer {
 public:
  explicit BucketReducer(std::unique_ptr<BucketSum> sums);
  /// Leaves buckets that are posted and not begun.
  ~BucketReducer();

  const Buckets& buckets() const { return sums_->buckets(); }
  BucketSum& sums() { return *sums_; }

  /// A new round: no bucket is posted. REQUIRES: all of the last round are reduced.
  void begin();
  /// The next bucket, in order, has its gradients.
  void post();
  /// The first of the round that is not reduced, behind the last when all are. Rethrows what went wrong.
  BucketId first_open();
  /// Blocks until this one is reduced.
  void wait(BucketId bucket);

  /// Seconds since the last call: that the thread reduced, and that wait() waited.
  struct Times {
    double reducing = 0, waiting = 0;
  };
  Times take_times();

  /// Where the thread notes its reductions from now on; it outlives them. REQUIRES: all of the last round are reduced.
  void record_in(TraceRing* ring);

 private:
  void run();
  /// Waits for a bucket to be posted, or for the end, and looks after the sums that are under way meanwhile.
  void await_work(std::unique_lock<std::mutex>& lock);
  void reduce(std::unique_lock<std::mutex>& lock);

  std::unique_ptr<BucketSum> sums_;
  std::mutex mutex_;
  std::condition_variable changed_;
  BucketId next_{0}, first_open_{0};  ///< of the round: to be posted, to be reduced
  bool ending_ = false;               ///< guarded by mutex_
  std::exception_ptr error_;          ///< of the thread; thrown where its sums are waited for
  Times times_;
  TraceRing* ring_ = nullptr;
  std::thread thread_;
};

}  // namespace robusta
