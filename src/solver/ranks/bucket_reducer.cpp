#include "solver/ranks/bucket_reducer.h"

#include <cassert>
#include <chrono>

namespace robusta {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

BucketReducer::BucketReducer(std::unique_ptr<AllReduce> all_reduce, std::vector<Bucket> buckets, DType type,
                             std::function<void(size_t bucket)> before)
    : all_reduce_(std::move(all_reduce)),
      buckets_(std::move(buckets)),
      type_(type),
      before_(std::move(before)),
      thread_([this] { run(); }) {}

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
    assert(posted_ < buckets_.size());
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
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || reduced_ < posted_; });
    if (ending_) return;
    const Bucket& bucket = buckets_[reduced_];
    const auto index = static_cast<int>(reduced_);
    TraceRing* const ring = ring_;
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    std::exception_ptr error;
    try {
      before_(static_cast<size_t>(index));
      const TraceSpan span(ring, TraceKind::kReducing, index);
      all_reduce_->sum(bucket.data, bucket.count, type_, bucket.tail);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    times_.reducing += seconds_since(start);
    error_ = error;
    if (!error) ++reduced_;
    changed_.notify_all();
    if (error) return;
  }
}

}  // namespace robusta
