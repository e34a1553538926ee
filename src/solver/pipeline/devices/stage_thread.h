/// The thread of a stage: it runs one job after the other, each handed to it by the thread that owns the pipeline.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace robusta {

class StageThread {
 public:
  StageThread() : thread_([this] { work(); }) {}
  ~StageThread();
  StageThread(const StageThread&) = delete;
  StageThread& operator=(const StageThread&) = delete;

  /// REQUIRES: the last job was waited for.
  void start(std::function<void()> job);
  /// Waits for the job; throws what it threw.
  void wait();
  void run(std::function<void()> job) {
    start(std::move(job));
    wait();
  }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  ///< null: there is none. Guarded by mutex_, as all below
  std::exception_ptr thrown_;
  bool closing_ = false;
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace robusta
