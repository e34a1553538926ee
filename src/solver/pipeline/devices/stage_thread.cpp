// All that a job has written is seen by whoever has waited for it: both go through the mutex.
#include "solver/pipeline/devices/stage_thread.h"

#include <utility>

namespace robusta {

StageThread::~StageThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StageThread::start(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_all();
}

void StageThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
  if (std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
}

void StageThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return job_ || closing_; });
    if (!job_) return;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      job_();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = thrown;
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace robusta
