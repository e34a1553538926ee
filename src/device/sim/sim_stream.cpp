// A queue of work and a thread that runs it, per stream; recordings are lists of work.

#include "device/sim/sim_stream.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Of the thread, not the stream: as while CUDA captures, a thread that records may wait for no stream at all.
thread_local bool this_thread_records = false, this_recording_is_spoiled = false;

struct SimRecording : Recording {
  std::vector<std::function<void()>> work;
};

void pause(int us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

void SimEvent::wait() {
  SimStream::refuse_while_recording("the host waits for an event");
  ++state_.host_waits;
  await();
  if (failure_) std::rethrow_exception(failure_);
}

bool SimEvent::reached() {
  std::lock_guard lock(mutex_);
  return done_;
}

void SimEvent::await() {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [this] { return done_; });
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
  if (recording_) refuse_while_recording("an event is recorded");
  auto event = std::make_shared<SimEvent>(state_);
  // Signalled after a failure, too: otherwise whoever waits for it would wait for ever.
  enqueue({[this, event] { event->signal(failure()); }, true});
  return event;
}

void SimStream::wait(const std::shared_ptr<Event>& event) {
  if (recording_) refuse_while_recording("the stream is to wait for an event");
  enqueue({[event] { static_cast<SimEvent&>(*event).await(); }, true});
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
  recorded_.clear();
  recording_ = this_thread_records = true;
  this_recording_is_spoiled = false;
}

std::unique_ptr<Recording> SimStream::end_recording() {
  assert(recording_ && this_thread_records);
  abandon_recording();
  if (this_recording_is_spoiled) throw Error(ErrorKind::kInternal, "the recording of a graph was spoiled");
  auto recording = std::make_unique<SimRecording>();
  recording->work.swap(recorded_);
  return recording;
}

void SimStream::abandon_recording() noexcept { recording_ = this_thread_records = false; }

void SimStream::launch(Recording& recording) {
  refuse_while_recording("a graph is launched");
  ++state_.launches;
  for (const Work& work : static_cast<SimRecording&>(recording).work) enqueue({work, false});
}

void SimStream::refuse_while_recording(const char* what) {
  if (!this_thread_records) return;
  this_recording_is_spoiled = true;
  throw Error(ErrorKind::kInternal, str("while a graph is recorded, ", what));
}

void SimStream::push(Work work) {
  if (recording_) {
    recorded_.push_back(std::move(work));
    return;
  }
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
