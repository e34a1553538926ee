// A queue of work and a thread that runs it, per stream.

#include "device/sim/sim_stream.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "base/str.h"
#include "device/sim/sim_recording.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Of the thread, not the stream: as while CUDA captures, a thread that records may wait for no stream at all.
thread_local bool this_thread_records = false, this_recording_is_spoiled = false;

void pause(int us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

void SimEvent::wait() {
  SimStream::refuse_while_recording("the host waits for an event");
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

SimStream::SimStream(SimState& state) : state_(state), thread_([this] { work(); }) {}

SimStream::~SimStream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SimStream::run(Work work) {
  push([this, work = std::move(work)] {
    pause(state_.late_work_us);
    work();
  });
}

void SimStream::copy_to_device(void* to, const void* from_host, size_t bytes) {
  if (bytes == 0) return;  // as CudaStream; the pointers may be null
  state_.heap.check(to, bytes);
  push([this, to, from_host, bytes] {
    pause(state_.late_copies_us);
    std::memcpy(to, from_host, bytes);
    state_.bytes_to_device += bytes;
  });
}

void SimStream::copy_to_host(void* to_host, const void* from, size_t bytes) {
  if (bytes == 0) return;
  state_.heap.check(from, bytes);
  push([this, to_host, from, bytes] {
    pause(state_.late_copies_us);
    std::memcpy(to_host, from, bytes);
    state_.bytes_to_host += bytes;
  });
}

void SimStream::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  state_.heap.check(to, bytes);
  state_.heap.check(from, bytes);
  push([to, from, bytes] { std::memmove(to, from, bytes); });
}

void SimStream::fill_zero(void* to, size_t bytes) {
  if (bytes == 0) return;
  state_.heap.check(to, bytes);
  push([to, bytes] { std::memset(to, 0, bytes); });
}

std::shared_ptr<Event> SimStream::record() {
  if (capture_) return capture_->mark(branch_, capture_, state_);
  auto event = std::make_shared<SimEvent>(state_);
  enqueue_signal(event);
  return event;
}

std::shared_ptr<Event> SimStream::record_timed() {
  if (!capture_) return record();
  auto event = std::make_shared<SimEvent>(state_);
  capture_->time(branch_, event);
  return event;
}

void SimStream::wait(const std::shared_ptr<Event>& event) {
  const auto awaited = std::static_pointer_cast<SimEvent>(event);
  const std::shared_ptr<SimCapture>& capture = awaited->capture();
  if (capture && !capture->open()) throw Error(ErrorKind::kInternal, "a stream is to wait for an event of a recording");
  if (capture && !capture_) {
    capture_ = capture;
    branch_ = capture->join(*this);
  }
  if (capture != capture_) refuse_while_recording("a stream is to wait for what is not recorded");
  if (capture_) return capture_->wait(branch_, *awaited);
  enqueue({[awaited] { awaited->await(); }, true});
}

void SimStream::enqueue_signal(std::shared_ptr<SimEvent> event) {
  enqueue({[this, event = std::move(event)] { event->signal(failure()); }, true});
}

void SimStream::enqueue_wait(std::shared_ptr<SimEvent> event) {
  enqueue({[event = std::move(event)] { event->await(true); }, true});
}

void SimStream::forget_failure() {
  const auto forget = [this] {
    std::lock_guard lock(mutex_);
    failure_ = nullptr;
  };
  enqueue({forget, true});
}

void SimStream::synchronize() {
  refuse_while_recording("the host waits for a stream");
  ++state_.synchronizations;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  // Thrown once; the stream goes on with what is enqueued from then on.
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void SimStream::begin_recording() {
  refuse_while_recording("another recording begins");
  capture_ = std::make_shared<SimCapture>(*this);
  branch_ = 0;
  this_thread_records = true;
  this_recording_is_spoiled = false;
}

std::unique_ptr<Recording> SimStream::end_recording() {
  assert(capture_ && branch_ == 0 && this_thread_records);
  const std::shared_ptr<SimCapture> captured = capture_;
  abandon_recording();
  if (this_recording_is_spoiled) throw Error(ErrorKind::kInternal, "the recording of a graph was spoiled");
  if (!captured->is_joined()) throw Error(ErrorKind::kInternal, "a stream has not come back when a recording ends");
  return std::make_unique<SimRecording>(captured, state_);
}

void SimStream::abandon_recording() noexcept {
  this_thread_records = false;
  if (const std::shared_ptr<SimCapture> captured = capture_) captured->close();
}

void SimStream::launch(Recording& recording) {
  refuse_while_recording("a graph is launched");
  ++state_.launches;
  static_cast<SimRecording&>(recording).launch(*this);
}

void SimStream::refuse_while_recording(const char* what) {
  if (!this_thread_records) return;
  this_recording_is_spoiled = true;
  throw Error(ErrorKind::kInternal, str("while a graph is recorded, ", what));
}

void SimStream::push(Work work) {
  if (capture_) return capture_->append(branch_, std::move(work));
  ++state_.launches;
  enqueue({std::move(work), false});
}

void SimStream::enqueue(Item item) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

std::exception_ptr SimStream::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

void SimStream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    // Closing, and all that was enqueued is done.
    if (queue_.empty()) return;
    const Item next = std::move(queue_.front());
    queue_.pop_front();
    const bool skipped = failure_ && !next.always;
    busy_ = true;
    // Work runs without the lock, which those need that enqueue more.
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!skipped) {
        pause(state_.delay_us);
        next.work();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace robusta
