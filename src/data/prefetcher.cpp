// One queue of batches, guarded by one mutex; workers hold it only to claim samples.
//
// A job that is no longer wanted leaves the queue while workers may still be filling it: it is shared, and ends with
// the last of them.

#include "data/prefetcher.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "data/error_of.h"

namespace robusta {
namespace {

constexpr char kLessAhead[] = "lower data_param.prefetch or the batch size";

}  // namespace

Prefetcher::Prefetcher(const BatchFiller& filler, int depth, int threads, Device& device)
    : filler_(filler), depth_(static_cast<size_t>(depth)), thread_count_(threads), device_(device) {
  assert(depth >= 1 && threads >= 1);
  constexpr size_t kNotInQueue = 3;
  queue_.reserve(depth_);
  spare_.reserve(depth_ + kNotInQueue);
}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Prefetcher::start_workers() {
  while (static_cast<int>(threads_.size()) < thread_count_) threads_.emplace_back([this] { work(); });
}

Batch& Prefetcher::take(const BatchPlan& plan, uint64_t next_first) {
  start_workers();
  std::unique_lock lock(mutex_);
  if (current_) give_back();
  const uint64_t batch = static_cast<uint64_t>(plan.size);
  const uint64_t stride = next_first > plan.first ? next_first - plan.first : batch;
  if (queue_.empty() || queue_.front()->batch.plan != plan) expect(plan, stride);
  current_ = queue_.front();
  wait_for(current_, lock);
  queue_.erase(queue_.begin());
  expect({plan.seed, next_first, plan.size}, stride);
  if (current_->error) throw *current_->error;
  return current_->batch;
}

/// No worker refers to the job: it was done, and they let go of a job before they leave the lock.
void Prefetcher::give_back() {
  spare_.push_back(std::move(current_->batch));
  *current_ = Job{};
  idle_ = std::move(current_);
}

/// Makes the queue hold the `depth_` batches first, first + stride, ...; keeps the part of it that is so already.
void Prefetcher::expect(const BatchPlan& first, uint64_t stride) {
  BatchPlan plan = first;
  size_t right = 0;
  for (; right < queue_.size() && queue_[right]->batch.plan == plan; ++right) plan.first += stride;
  queue_.resize(right);
  for (; queue_.size() < depth_; plan.first += stride) {
    queue_.push_back(idle_ ? std::move(idle_) : std::make_shared<Job>());
    queue_.back()->batch.plan = plan;
  }
  work_.notify_all();
}

void Prefetcher::wait_for(const JobPtr& job, std::unique_lock<std::mutex>& lock) {
  if (job->done()) return;
  const auto start = std::chrono::steady_clock::now();
  ready_.wait(lock, [&] { return job->done(); });
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Prefetcher::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const JobPtr job = find_work();
    if (!job)
      work_.wait(lock);
    else if (job->stage == Stage::kNew)
      open(job, lock);
    else
      fill_some(job, lock);
  }
}

/// The earliest batch with something to do.
Prefetcher::JobPtr Prefetcher::find_work() const {
  for (const JobPtr& job : queue_) {
    if (job->error || job->stage == Stage::kOpening) continue;
    if (job->stage == Stage::kNew || job->claimed < job->batch.plan.size) return job;
  }
  return nullptr;
}

void Prefetcher::open(const JobPtr& job, std::unique_lock<std::mutex>& lock) {
  job->stage = Stage::kOpening;
  ++job->busy;
  take_spare(job->batch);
  lock.unlock();
  auto error = error_of([&] { make_room(job->batch); }, kLessAhead);
  lock.lock();
  --job->busy;
  job->stage = Stage::kFilling;
  job->error = std::move(error);
  work_.notify_all();
  if (job->done()) ready_.notify_all();
}

/// The memory of a batch that was given back. The one given back last may still be on its way to a device, so that a
/// second one is kept rather than waited for.
void Prefetcher::take_spare(Batch& batch) {
  const bool on_its_way = spare_.size() == 1 && spare_.front().reader;
  if (spare_.empty() || on_its_way) return;
  const BatchPlan plan = batch.plan;
  batch = std::move(spare_.front());
  batch.plan = plan;
  spare_.erase(spare_.begin());
}

/// Memory for the batch, which nobody reads any more.
void Prefetcher::make_room(Batch& batch) const {
  if (batch.reader) {
    device_.make_current();
    if (!batch.reader->reached()) batch.reader->wait();
    batch.reader = nullptr;
  }
  batch.layout = filler_.layout(batch.plan);
  if (batch.layout.bytes() <= batch.capacity) return;
  batch.capacity = 0;
  batch.memory.reset();
  batch.memory = device_.host_memory(batch.layout.bytes());
  batch.capacity = batch.layout.bytes();
}

void Prefetcher::fill_some(const JobPtr& job, std::unique_lock<std::mutex>& lock) {
  const int64_t size = job->batch.plan.size;
  const int64_t begin = job->claimed, end = std::min(size, begin + portion(size));
  job->claimed = end;
  ++job->busy;
  lock.unlock();
  auto error = error_of([&] { filler_.fill(job->batch, begin, end); }, kLessAhead);
  lock.lock();
  --job->busy;
  // Samples are claimed in order: when one fails, all earlier ones are in somebody's hands, so the first failure wins.
  if (error && (!job->error || begin < job->failed_at)) {
    job->error = std::move(error);
    job->failed_at = begin;
  }
  if (job->done()) ready_.notify_all();
}

/// Small enough that all workers share a batch and that stopping is prompt, large enough that the lock costs nothing.
int64_t Prefetcher::portion(int64_t batch) const {
  constexpr int64_t kMost = 32;
  return std::clamp<int64_t>(batch / (2 * thread_count_), 1, kMost);
}

}  // namespace robusta
