/// What each rank did when, for -timeline: layers, buckets, updates, waits, tests and snapshots.
///
/// Every rank keeps its own events in memory taken at the start, one ring per thread, and sends nothing while it
/// trains; write() gathers them piece by piece and rank 0 writes one file. Driven by the thread that trains, but for
/// the ring of the reductions.
#pragma once

#include <string>

#include "layers/kit/param.h"
#include "net/net.h"
#include "solver/ranks/ranks.h"
#include "solver/reports/timeline/host_clocks.h"
#include "solver/trace/trace_ring.h"

namespace robusta {

struct TimelineOptions {
  static constexpr int kLatest = 50;  ///< iterations that are kept when none are named
  std::string file;                   ///< "": no timeline
  int first = -1, last = -1;          ///< iterations; -1: the latest ones
};

/// "FILE" or "FILE:100-149". Throws Error{kUsage}.
TimelineOptions parse_timeline(const std::string& text);

class Timeline {
 public:
  /// Collective. `events`: of one iteration, about. Throws Error{kOutput} when the file cannot be written.
  Timeline(Ranks& ranks, TimelineOptions options, size_t events);

  /// What follows belongs to this iteration.
  void at_iteration(int iteration);
  /// A step of a layer begins, and the one before has ended.
  void begin_step(const std::string& layer, bool backward);
  void end_step();
  /// A wait that has just been part of a pass that began at `begin` and waited first.
  void waited_for_data(int64_t begin, double seconds);
  void posted(size_t bucket);

  TraceRing& driver() { return driver_; }
  TraceRing& reductions() { return reductions_; }

  /// Collective; REQUIRES: nothing is being reduced. Throws Error{kOutput} on all ranks.
  void write();

 private:
  int64_t first_kept() const;
  template <typename Use>
  void for_each_piece(const Use& use) const;

  Ranks& ranks_;
  TimelineOptions options_;
  TraceRing driver_, reductions_;
  ClockLine clock_;
  int64_t origin_;  ///< on rank 0's clock
  TraceEvent step_;
  bool in_step_ = false;
};

/// A TraceSpan on the driver's ring. A step that is under way ends where it begins.
class TimelineSpan {
 public:
  TimelineSpan(Timeline* timeline, TraceKind kind, int number, const char* name = "")
      : span_(ring_of(timeline), kind, number, name) {}

 private:
  static TraceRing* ring_of(Timeline* timeline) {
    if (!timeline) return nullptr;
    timeline->end_step();
    return &timeline->driver();
  }
  TraceSpan span_;
};

/// Shows the updates of single parameters, for a rank alone.
class TimedSink : public GradientSink {
 public:
  TimedSink(Timeline& timeline, GradientSink& sink) : timeline_(timeline), sink_(sink) {}
  void ready(Param& param) override {
    const TimelineSpan span(&timeline_, TraceKind::kUpdate, 0, param.layer.c_str());
    sink_.ready(param);
  }

 private:
  Timeline& timeline_;
  GradientSink& sink_;
};

}  // namespace robusta
