/// The streams of the fake accelerator, each a thread of its own.
///
/// Work that throws stops its stream as a GPU's error does: what follows is left out until synchronize, which rethrows;
/// Event::wait rethrows it too. A recording refuses what CUDA refuses while it captures.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/sim/sim_state.h"

namespace robusta {

class SimEvent : public Event {
 public:
  explicit SimEvent(SimState& state) : state_(state) {}
  void wait() override;
  bool reached() override;
  double ms_since(const Event& earlier) const override;
  /// For another stream's thread.
  void await();
  /// `failure`: of the work before it.
  void signal(std::exception_ptr failure);

 private:
  SimState& state_;
  std::mutex mutex_;
  std::condition_variable reached_;
  bool done_ = false;
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point time_;
};

class SimStream : public Stream {
 public:
  explicit SimStream(SimState& state);
  ~SimStream() override;

  KernelCounter* counter() override { return &state_.kernels; }
  void run(std::function<void()> work) override;
  void copy_to_device(void* to, const void* from_host, size_t bytes) override;
  void copy_to_host(void* to_host, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void fill_zero(void* to, size_t bytes) override;
  std::shared_ptr<Event> record() override;
  void wait(const std::shared_ptr<Event>& event) override;
  void synchronize() override;

  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void abandon_recording() noexcept override;
  void launch(Recording& recording) override;

  /// Throws, and spoils the recording, if the calling thread records.
  static void refuse_while_recording(const char* what);

 private:
  using Work = std::function<void()>;
  struct Item {
    Work work;
    bool always;  ///< after a failure too
  };

  void push(Work work);
  void enqueue(Item item);
  void work();
  std::exception_ptr failure();

  SimState& state_;
  std::vector<Work> recorded_;
  bool recording_ = false;  ///< touched by the driving thread alone, as recorded_ is

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  ///< guarded by mutex_, as all below
  std::exception_ptr failure_;
  bool busy_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace robusta
