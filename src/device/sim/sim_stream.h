/// The streams of the fake accelerator, each a thread of its own.
///
/// Work that throws stops its stream as a GPU's error does: what follows is left out until synchronize, which rethrows;
/// Event::wait rethrows it too. A recording (sim_recording.h) refuses what CUDA refuses while it captures.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "device/device.h"
#include "device/sim/sim_state.h"

namespace robusta {

class SimCapture;

class SimEvent : public Event {
 public:
  explicit SimEvent(SimState& state) : state_(state) {}
  /// Of a recording, in which it has this place: nothing but its streams can wait for it.
  SimEvent(SimState& state, std::shared_ptr<SimCapture> capture, size_t place)
      : state_(state), capture_(std::move(capture)), place_(place) {}
  void wait() override;
  bool reached() override;
  double ms_since(const Event& earlier) const override;
  /// For another stream's thread. `failure`: of the work before it is thrown.
  void await(bool failure = false);
  /// Is to be reached once more.
  void rearm();
  const std::shared_ptr<SimCapture>& capture() const { return capture_; }
  size_t place() const { return place_; }
  /// `failure`: of the work before it.
  void signal(std::exception_ptr failure);

 private:
  void refuse_outside_of_capture() const;

  SimState& state_;
  const std::shared_ptr<SimCapture> capture_ = nullptr;
  const size_t place_ = 0;
  std::mutex mutex_;
  std::condition_variable reached_;
  bool done_ = false;
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point time_;
};

class SimStream : public Stream {
 public:
  using Work = std::function<void()>;
  explicit SimStream(SimState& state);
  ~SimStream() override;

  KernelCounter* counter() override { return &state_.kernels; }
  void run(std::function<void()> work) override;
  void copy_to_device(void* to, const void* from_host, size_t bytes) override;
  void copy_to_host(void* to_host, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void fill_zero(void* to, size_t bytes) override;
  std::shared_ptr<Event> record() override;
  std::shared_ptr<Event> record_timed() override;
  void wait(const std::shared_ptr<Event>& event) override;
  void synchronize() override;

  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void abandon_recording() noexcept override;
  void launch(Recording& recording) override;

  /// Throws, and spoils the recording, if the calling thread records.
  static void refuse_while_recording(const char* what);

  // What a launch is made of:
  SimState& state() { return state_; }
  void enqueue_work(Work work) { enqueue({std::move(work), false}); }
  /// Signalled after a failure, too: otherwise whoever waits for it would wait for ever.
  void enqueue_signal(std::shared_ptr<SimEvent> event);
  /// What failed before the event has failed here, too.
  void enqueue_wait(std::shared_ptr<SimEvent> event);
  void forget_failure();
  void leave_capture() { capture_ = nullptr; }

 private:
  struct Item {
    Work work;
    bool always;  ///< after a failure too
  };

  void push(Work work);
  void enqueue(Item item);
  void work();
  std::exception_ptr failure();

  SimState& state_;
  std::shared_ptr<SimCapture> capture_;  ///< null: it does not record; the driving thread's, as branch_ is
  size_t branch_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  ///< guarded by mutex_, as all below
  std::exception_ptr failure_;
  bool busy_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace robusta
