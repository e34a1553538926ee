// An event is reached when work of a stream says so; who waits for it is woken then.

#include "device/sim/sim_event.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

namespace sim_recording {
namespace {

thread_local bool records = false, is_spoiled = false;

}  // namespace

void begin() {
  records = true;
  is_spoiled = false;
}

bool end() {
  records = false;
  return !is_spoiled;
}

void refuse(const char* what) {
  if (!records) return;
  is_spoiled = true;
  throw Error(ErrorKind::kInternal, str("while a graph is recorded, ", what));
}

}  // namespace sim_recording

void SimEvent::wait() {
  sim_recording::refuse("the host waits for an event");
  refuse_outside_of_capture();
  ++state_.host_waits;
  await(true);
}

void SimEvent::refuse_outside_of_capture() const {
  if (capture_) throw Error(ErrorKind::kInternal, "an event of a recording is asked for outside of it");
}

bool SimEvent::reached() {
  refuse_outside_of_capture();
  std::lock_guard lock(mutex_);
  return done_;
}

void SimEvent::await(bool failure) {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [this] { return done_; });
  if (failure && failure_) std::rethrow_exception(failure_);
}

void SimEvent::rearm() {
  std::lock_guard lock(mutex_);
  done_ = false;
}

void SimEvent::signal(std::exception_ptr failure) {
  std::lock_guard lock(mutex_);
  done_ = true;
  failure_ = std::move(failure);
  time_ = std::chrono::steady_clock::now();
  reached_.notify_all();
}

double SimEvent::ms_since(const Event& earlier) const {
  return std::chrono::duration<double, std::milli>(time_ - static_cast<const SimEvent&>(earlier).time_).count();
}

}  // namespace robusta
