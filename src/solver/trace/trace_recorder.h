/// What this rank does when, noted while it trains: layers, buckets, updates, waits.
///
/// Two rings, taken at the start: one for the thread that drives the training, one for the thread that reduces
/// gradients. What becomes of the events (reports/timeline) is not known here. Driven by the thread that trains, but
/// for the ring of the reductions.
#pragma once

#include <string>

#include "solver/trace/trace_ring.h"

namespace robusta {

class TraceRecorder {
 public:
  /// Both rings keep so many events.
  explicit TraceRecorder(size_t capacity) : driver_(capacity), reductions_(capacity) {}

  /// Whether what follows is noted.
  void turn(bool on) {
    driver_.turn(on);
    reductions_.turn(on);
  }
  /// A step of a layer begins, and the one before has ended. The name outlives the recorder.
  void begin_step(const std::string& layer, bool backward) {
    end_step();
    if (!driver_.on()) return;
    step_ = {
        .begin = steady_ns(), .name = layer.c_str(), .kind = backward ? TraceKind::kBackward : TraceKind::kForward};
    in_step_ = true;
  }
  void end_step() {
    if (!in_step_) return;
    in_step_ = false;
    step_.end = steady_ns();
    driver_.add(step_);
  }
  /// A wait that has just been part of a pass that began at `begin` and waited first.
  void waited_for_data(int64_t begin, double seconds) {
    constexpr double kShortest = 1e-6;  // else there was no wait, only a look
    if (!driver_.on() || seconds < kShortest) return;
    const int64_t end = begin + static_cast<int64_t>(1e9 * seconds);
    driver_.add({.begin = begin, .end = end, .kind = TraceKind::kDataWait});
  }
  /// The gradients of a bucket are complete.
  void posted(int bucket) {
    end_step();
    const int64_t now = steady_ns();
    if (driver_.on()) driver_.add({.begin = now, .end = now, .number = bucket, .kind = TraceKind::kPosted});
  }

  TraceRing& driver() { return driver_; }
  TraceRing& reductions() { return reductions_; }
  const TraceRing& driver() const { return driver_; }
  const TraceRing& reductions() const { return reductions_; }

 private:
  TraceRing driver_, reductions_;
  TraceEvent step_;
  bool in_step_ = false;
};

/// A TraceSpan on the driver's ring. A step that is under way ends where it begins. Without a recorder it does nothing.
class DriverSpan {
 public:
  DriverSpan(TraceRecorder* recorder, TraceKind kind, int number, const char* name = "")
      : span_(ring_of(recorder), kind, number, name) {}

 private:
  static TraceRing* ring_of(TraceRecorder* recorder) {
    if (!recorder) return nullptr;
    recorder->end_step();
    return &recorder->driver();
  }
  TraceSpan span_;
};

}  // namespace robusta
