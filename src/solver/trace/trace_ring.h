/// What one thread did lately: a ring of events of fixed size.
///
/// One thread adds, without locks and without allocating. Another may read when it knows that the first is at rest.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace robusta {

enum class TraceKind : uint8_t {
  kIteration,
  kForward,
  kBackward,
  kPosted,  ///< an instant: a bucket has its gradients
  kReducing,
  kUpdate,
  kDataWait,
  kBucketWait,
  kTest,
  kSnapshot,
};

struct TraceEvent {
  int64_t begin = 0, end = 0;  ///< nanoseconds of the steady clock
  const char* name = "";       ///< of a layer; outlives the ring
  int32_t number = 0;          ///< of the iteration, bucket or net
  TraceKind kind = TraceKind::kIteration;
};

inline int64_t steady_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

class TraceRing {
 public:
  explicit TraceRing(size_t capacity) : events_(capacity) {}

  /// May be called by any thread.
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void turn(bool on) { on_.store(on, std::memory_order_relaxed); }

  void add(const TraceEvent& event) { events_[next_++ % events_.size()] = event; }
  size_t capacity() const { return events_.size(); }
  size_t size() const { return std::min(next_, events_.size()); }
  /// The oldest that is left first.
  const TraceEvent& operator[](size_t index) const {
    return events_[(next_ > events_.size() ? next_ + index : index) % events_.size()];
  }
  bool overflowed() const { return next_ > events_.size(); }

 private:
  std::vector<TraceEvent> events_;
  size_t next_ = 0;              ///< events written so far; the ring holds the last ones
  std::atomic<bool> on_{false};  ///< turned by the driving thread
};

/// Adds an event to a ring from its construction to its end. Without a ring it does nothing.
class TraceSpan {
 public:
  TraceSpan(TraceRing* ring, TraceKind kind, int number, const char* name = "")
      : ring_(ring && ring->on() ? ring : nullptr) {
    if (ring_) event_ = {.begin = steady_ns(), .name = name, .number = number, .kind = kind};
  }
  ~TraceSpan() {
    if (!ring_) return;
    event_.end = steady_ns();
    ring_->add(event_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  TraceRing* ring_;
  TraceEvent event_;
};

}  // namespace robusta
