// A queue of work and a thread that runs it, per stream.

#include "device/sim/sim_stream.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

void pause(int us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

/// A recording, launched: a branch runs on a thread of its own, in the order of the recording's events alone.
class SimRecording : public Recording {
 public:
  SimRecording(std::shared_ptr<const SimCapture> captured, SimState& state);
  /// Appends it to the stream.
  void launch(SimStream& stream);

 private:
  std::shared_ptr<const SimCapture> captured_;
  std::vector<std::unique_ptr<SimStream>> threads_;  ///< of all branches but the first
};

SimRecording::SimRecording(std::shared_ptr<const SimCapture> captured, SimState& state)
    : captured_(std::move(captured)) {
  for (size_t b = 1; b < captured_->branches().size(); ++b) threads_.push_back(std::make_unique<SimStream>(state));
}

void SimRecording::launch(SimStream& stream) {
  std::vector<std::shared_ptr<SimEvent>> events;
  for (size_t e = 0; e < captured_->events(); ++e) events.push_back(std::make_shared<SimEvent>(stream.state_));
  const auto& branches = captured_->branches();
  for (size_t b = 0; b < branches.size(); ++b) {
    SimStream& thread = b == 0 ? stream : *threads_[b - 1];
    if (b > 0) thread.forget_failure();
    for (const SimCapture::Op& op : branches[b].ops) {
      switch (op.kind) {
        case SimCapture::Op::Kind::kWork:
          thread.enqueue({op.work, false});
          break;
        case SimCapture::Op::Kind::kSignal:
          thread.enqueue_signal(events[op.event]);
          break;
        case SimCapture::Op::Kind::kWait:
          thread.enqueue_wait(events[op.event]);
          break;
        case SimCapture::Op::Kind::kTime:
          op.timed->rearm();
          thread.enqueue_signal(op.timed);
          break;
      }
    }
  }
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
  if (SimCapture* const recording = capture()) return recording->mark(branch_, capture_, state_);
  auto event = std::make_shared<SimEvent>(state_);
  enqueue_signal(event);
  return event;
}

std::shared_ptr<Event> SimStream::record_timed() {
  SimCapture* const recording = capture();
  if (!recording) return record();
  auto event = std::make_shared<SimEvent>(state_);
  recording->time(branch_, event);
  return event;
}

void SimStream::wait(const std::shared_ptr<Event>& event) {
  const auto awaited = std::static_pointer_cast<SimEvent>(event);
  const std::shared_ptr<SimCapture>& of = awaited->capture();
  if (of && !of->open()) throw Error(ErrorKind::kInternal, "a stream is to wait for an event of a recording");
  if (of && !capture()) {
    capture_ = of;
    branch_ = of->join();
  }
  SimCapture* const recording = capture();
  if (recording != of.get()) sim_recording::refuse("a stream is to wait for what is not recorded");
  if (recording) return recording->wait(branch_, *awaited);
  enqueue({[awaited] { awaited->await(); }, true});
}

SimCapture* SimStream::capture() {
  if (capture_ && !capture_->open()) capture_ = nullptr;
  return capture_.get();
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
  sim_recording::refuse("the host waits for a stream");
  ++state_.synchronizations;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  // Thrown once; the stream goes on with what is enqueued from then on.
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void SimStream::begin_recording() {
  sim_recording::refuse("another recording begins");
  capture_ = std::make_shared<SimCapture>();
  branch_ = capture_->join();
  sim_recording::begin();
}

std::unique_ptr<Recording> SimStream::end_recording() {
  assert(capture() && branch_ == 0);
  const std::shared_ptr<SimCapture> captured = capture_;
  captured->close();
  if (!sim_recording::end()) throw Error(ErrorKind::kInternal, "the recording of a graph was spoiled");
  if (!captured->is_joined()) throw Error(ErrorKind::kInternal, "a stream has not come back when a recording ends");
  return std::make_unique<SimRecording>(captured, state_);
}

void SimStream::abandon_recording() noexcept {
  sim_recording::end();
  if (capture_) capture_->close();
}

void SimStream::launch(Recording& recording) {
  sim_recording::refuse("a graph is launched");
  ++state_.launches;
  static_cast<SimRecording&>(recording).launch(*this);
}

void SimStream::push(Work work) {
  if (SimCapture* const recording = capture()) return recording->append(branch_, std::move(work));
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
