/// What all ranks of one run_thread_ranks() share: one lock, and the first failure.
///
/// One lock is enough: data is copied outside of it, and large reductions use shared memory and atomics.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

class Job {
 public:
  std::mutex mutex;
  std::condition_variable changed;

  /// Blocks until `met()`, which is called under the lock; false when a rank has failed and it is not met.
  template <typename Condition>
  bool wait(std::unique_lock<std::mutex>& lock, const Condition& met) {
    changed.wait(lock, [&] { return met() || failed_; });
    return met();
  }
  void check() const {
    if (failed_) throw_failed();
  }

  /// The first one counts; the others are its consequences.
  void fail(int rank, std::exception_ptr error) {
    const std::lock_guard lock(mutex);
    if (failed_) return;
    rank_ = rank, error_ = std::move(error), failed_ = true;
    changed.notify_all();
  }
  std::exception_ptr error() const { return error_; }

  [[noreturn]] void throw_failed() const {
    throw Error(ErrorKind::kCommunication, str("rank ", rank_.load(), " has failed"));
  }

 private:
  std::atomic<bool> failed_ = false;
  std::atomic<int> rank_ = -1;
  std::exception_ptr error_;  ///< the first one, of `rank_`
};

}  // namespace robusta
