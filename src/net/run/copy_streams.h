/// Carries out a plan's Offload and Prefetch steps, and all waiting between them and the other steps.
///
/// Copies out have a stream, copies in another; the plan says who waits for whom (Step::waits). Memory on the host is
/// taken once. One thread drives it, the executor's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// What copies have done so far.
struct CopyTotals {
  uint64_t bytes_out = 0, bytes_in = 0;
  double exposed_ms = 0;  ///< for which steps have waited for copies
};

class CopyStreams {
 public:
  /// Throws Error{kMemory} when the host has too little. `compute` runs all other steps; it and `plan` outlive this.
  CopyStreams(const Plan& plan, const NetOptions& options, Stream& compute);
  ~CopyStreams();

  /// Before and after each step.
  void wait_for_needs(StepId step);
  void mark_done(StepId step);
  /// The work of a copy step; `memory` is that of its value.
  void copy(StepId step, void* memory, size_t bytes);
  /// Leaves copies that may be under way to the arena. The compute stream has been waited for.
  void end_steps(Arena& arena);

  const CopyTotals& totals() const { return totals_; }
  /// Where a step runs.
  Stream& stream_of(const Step& step);

 private:
  const Plan& plan_;
  Stream& compute_;
  std::shared_ptr<void> host_;                     ///< page-locked, where values are while they are away
  std::unique_ptr<Stream> out_, in_;               ///< one each way: a link carries both at once
  IdVector<StepId, std::shared_ptr<Event>> done_;  ///< per step that is awaited
  std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Event>>> exposed_;  ///< waits of this run of steps
  bool copied_ = false;                                                             ///< in this run of steps
  CopyTotals totals_;
};

}  // namespace robusta
