/// What each rank did when, for -timeline: layers, buckets, updates, waits, tests and snapshots.
///
/// Every rank keeps its own events (TraceRecorder) and sends nothing while it trains; write() gathers them piece by
/// piece and rank 0 writes one file. Driven by the thread that trains.
#pragma once

#include <optional>
#include <string>

#include "robusta/error.h"
#include "solver/ranks/ranks.h"
#include "solver/reports/timeline/host_clocks.h"
#include "solver/trace/trace_recorder.h"

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
  TraceRecorder& recorder() { return recorder_; }

  /// Collective; REQUIRES: nothing is being reduced. Throws Error{kOutput} on all ranks.
  void write();

 private:
  int64_t first_kept() const;
  /// Rank 0's part of write(): what went wrong, if anything.
  std::optional<Error> write_all_ranks();
  template <typename Use>
  void for_each_piece(const Use& use) const;

  Ranks& ranks_;
  TimelineOptions options_;
  TraceRecorder recorder_;
  ClockLine clock_;
  int64_t origin_;  ///< on rank 0's clock
};

}  // namespace robusta
