// One mutex guards two ids, of the bucket to be posted next and of the one to be reduced next; the sums themselves run
// outside of it. An error ends the thread and is rethrown to whoever waits.
#include "solver/ranks/sums/bucket_reducer.h"

#include <cassert>
#include <chrono>

#include "base/thread_name.h"

namespace robusta {
namespace {

constexpr std::chrono::milliseconds kLookEvery{5};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

BucketReducer::BucketReducer(std::unique_ptr<BucketSum> sums)
    : sums_(std::move(sums)), thread_([this] {
        name_this_thread("sums");
        run();
      }) {}

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
  assert(next_ == first_open_ || error_);
  next_ = first_open_ = BucketId(0);
}

void BucketReducer::post() {
  {
    const std::lock_guard lock(mutex_);
    assert(buckets().contains(next_));
    ++next_;
  }
  changed_.notify_all();
}

BucketId BucketReducer::first_open() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return first_open_;
}

void BucketReducer::wait(BucketId bucket) {
  std::unique_lock lock(mutex_);
  assert(bucket < next_);
  if (first_open_ <= bucket && !error_) {
    const auto start = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return first_open_ > bucket || error_; });
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
  const auto has_work = [this] { return ending_ || first_open_ < next_; };
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
  const BucketId bucket = first_open_;
  TraceRing* const ring = ring_;
  lock.unlock();
  const auto start = std::chrono::steady_clock::now();
  {
    const TraceSpan span(ring, TraceKind::kReducing, bucket.number());
    sums_->sum(bucket);
  }
  lock.lock();
  times_.reducing += seconds_since(start);
  ++first_open_;
  changed_.notify_all();
}

}  // namespace robusta
