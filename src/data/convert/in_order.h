/// Results that several threads make and one takes, in their order, with bounded memory.
///
/// A thread begins another one only while those that wait to be taken have less than `most_bytes`; the one that is to
/// be taken next may always be made. So no more is kept than that and one result for each thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace robusta {

template <typename Result>
class InOrder {
 public:
  struct Work {
    int64_t count = 0;
    /// Result `index`; called once for each, from any thread. Must not throw.
    std::function<Result(int64_t index)> make;
    std::function<size_t(const Result&)> bytes;
  };

  /// With one thread all is made by the caller of next().
  InOrder(Work work, int threads, size_t most_bytes) : work_(std::move(work)), most_bytes_(most_bytes) {
    try {
      for (int i = 0; threads > 1 && i < threads; ++i) workers_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      // As many as the system lets us have.
    }
  }
  ~InOrder() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    may_begin_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  /// The next one. REQUIRES: fewer than `count` calls before.
  Result next() {
    if (workers_.empty()) return work_.make(taken_++);
    std::unique_lock lock(mutex_);
    is_made_.wait(lock, [this] { return made_.contains(taken_); });
    Result result = std::move(made_.extract(taken_).mapped());
    waiting_bytes_ -= work_.bytes(result);
    ++taken_;
    lock.unlock();
    may_begin_.notify_all();
    return result;
  }

 private:
  bool may_begin() const { return begun_ == taken_ || (begun_ < work_.count && waiting_bytes_ < most_bytes_); }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      may_begin_.wait(lock, [this] { return stopped_ || begun_ == work_.count || may_begin(); });
      if (stopped_ || begun_ == work_.count) return;
      const int64_t index = begun_++;
      lock.unlock();
      Result result = work_.make(index);
      lock.lock();
      waiting_bytes_ += work_.bytes(result);
      made_.emplace(index, std::move(result));
      is_made_.notify_one();
    }
  }

  Work work_;
  size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable may_begin_, is_made_;
  std::map<int64_t, Result> made_;
  int64_t begun_ = 0, taken_ = 0;
  size_t waiting_bytes_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> workers_;  // last: they use all of the above
};

}  // namespace robusta
