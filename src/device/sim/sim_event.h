/// Events of the fake accelerator, and what no thread may do while it records.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "device/device.h"
#include "device/sim/sim_state.h"

namespace robusta {

/// Whether the calling thread records: as while CUDA captures, it may then wait for no stream at all.
namespace sim_recording {
void begin();
/// Returns whether nothing has been refused since begin().
bool end();
/// Throws if the thread records, and spoils the recording.
void refuse(const char* what);
}  // namespace sim_recording

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

}  // namespace robusta
