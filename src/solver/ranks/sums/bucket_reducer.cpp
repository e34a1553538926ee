// One mutex guards two counters, how many buckets are posted and how many are reduced; the sums themselves run outside
// of it. An error ends the thread and is rethrown to whoever waits.
#include "solver/ranks/sums/bucket_reducer.h"

#include <cassert>
#include <chrono>

namespace robusta {
namespace {

constexpr std::chrono::milliseconds kLookEvery{5};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

BucketReducer::BucketReducer(std::unique_ptr<BucketSum> sums) : sums_(std::move(sums)), thread_([this] { run(); }) {}

BucketReducer::~BucketReducer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BucketReducer::begin() {
  const std::lock_guard lock(mutex_);
  assert(posted_ == reduced_ || error_);
  posted_ = reduced_ = 0;
}

void BucketReducer::post() {
  {
    const std::lock_guard lock(mutex_);
    assert(posted_ < buckets().size());
    ++posted_;
  }
  changed_.notify_all();
}

size_t BucketReducer::reduced() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return reduced_;
}

void BucketReducer::wait(size_t count) {
  std::unique_lock lock(mutex_);
  assert(count <= posted_);
  if (reduced_ < count && !error_) {
    const auto start = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return reduced_ >= count || error_; });
    times_.waiting += seconds_since(start);
  }
  if (error_) std::rethrow_exception(error_);
}

BucketReducer::Times BucketReducer::take_times() {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, {});
}

void BucketReducer::record_in(TraceRing* ring) {
  const std::lock_guard lock(mutex_);
  ring_ = ring;
}

void BucketReducer::run() {
  std::unique_lock lock(mutex_);
  try {
    for (await_work(lock); !ending_; await_work(lock)) reduce(lock);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

void BucketReducer::await_work(std::unique_lock<std::mutex>& lock) {
  const auto has_work = [this] { return ending_ || reduced_ < posted_; };
  // Nobody but this thread sees sums that will never end; the driver may be waiting for the GPU, which waits for them.
  while (!has_work() && sums_->under_way()) {
    changed_.wait_for(lock, kLookEvery);
    lock.unlock();
    sums_->check();
    lock.lock();
  }
  changed_.wait(lock, has_work);
}

void BucketReducer::reduce(std::unique_lock<std::mutex>& lock) {
  const size_t bucket = reduced_;
  TraceRing* const ring = ring_;
  lock.unlock();
  const auto start = std::chrono::steady_clock::now();
  {
    const TraceSpan span(ring, TraceKind::kReducing, static_cast<int>(bucket));
    sums_->sum(bucket);
  }
  lock.lock();
  times_.reducing += seconds_since(start);
  ++reduced_;
  changed_.notify_all();
}

}  // namespace robusta
