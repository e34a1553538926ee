/// The streams of the fake accelerator, each a thread of its own.
///
/// Work that throws stops its stream as a GPU's error does: what follows is left out until synchronize, which rethrows;
/// Event::wait rethrows it too. A recording (sim_capture.h) refuses what CUDA refuses while it captures.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "device/device.h"
#include "device/sim/sim_capture.h"
#include "device/sim/sim_event.h"
#include "device/sim/sim_state.h"

namespace robusta {

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
  std::shared_ptr<Event> record_timed() override;
  void wait(const std::shared_ptr<Event>& event) override;
  void synchronize() override;

  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;
  void abandon_recording() noexcept override;
  void launch(Recording& recording) override;

 private:
  friend class SimRecording;
  using Work = std::function<void()>;
  struct Item {
    Work work;
    bool always;  ///< after a failure too
  };

  /// Null: it does not record.
  SimCapture* capture();
  void push(Work work);
  /// Signalled after a failure, too: otherwise whoever waits for it would wait for ever.
  void enqueue_signal(std::shared_ptr<SimEvent> event);
  /// What failed before the event has failed here, too.
  void enqueue_wait(std::shared_ptr<SimEvent> event);
  void forget_failure();
  void enqueue(Item item);
  void work();
  std::exception_ptr failure();

  SimState& state_;
  std::shared_ptr<SimCapture> capture_;  ///< that it belongs to, or did; the driving thread's, as branch_ is
  size_t branch_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  ///< guarded by mutex_, as all below
  std::exception_ptr failure_;
  bool busy_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace robusta
