/// Carries out a plan's Offload and Prefetch steps, and all waiting between them and the other steps.
///
/// Copies out have a stream, copies in another; the plan says who waits for whom (Step::waits). Memory on the host is
/// taken once. Steps that are launched together (pass_graphs.h) are a group: in it the two streams branch off the
/// computing one and come back, so that it can be recorded, and what is outside of it, before and behind, waits for no
/// more than the computing stream does. One thread drives it, the executor's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// What copies have done so far.
struct CopyTotals {
  uint64_t bytes_out = 0, bytes_in = 0;
  double exposed_ms = 0;  ///< for which steps have waited for copies
  size_t recordings = 0;  ///< that copies are kept account of: those that there are
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

  /// Before the steps of a group, and behind them. `recording`: they do not run yet.
  void begin_group(bool recording);
  void end_group();
  /// Launches a group: the one that was recorded last, or one that has been launched before.
  void launch(Recording& group);
  /// All recordings are dropped, and with them what is known of them. Waits for their last launches, which count.
  void forget_recordings();

  /// Whether steps have run since the last end_steps() that were not launched.
  bool has_run_steps() const { return copied_ || !exposed_.empty(); }
  /// Leaves copies that may be under way to the arena. REQUIRES: if has_run_steps(), the compute stream has been waited
  /// for.
  void end_steps(Arena& arena);

  /// Without waits in launches that are under way.
  const CopyTotals& totals();
  /// Where a step runs.
  Stream& stream_of(const Step& step);

 private:
  using Waits = std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Event>>>;  ///< when they begin, and end
  /// What a launch of a recorded group does.
  struct Group {
    uint64_t bytes_out = 0, bytes_in = 0;
    Waits waits = {};
    std::shared_ptr<Event> done = nullptr;  ///< the last launch, whose waits are not in the totals yet
  };
  void follow(const std::shared_ptr<Event>& computed);
  void come_back();
  void add(const Waits& waits);
  void add_last_launch(Group& group);

  const Plan& plan_;
  Stream& compute_;
  std::shared_ptr<void> host_;                     ///< page-locked, where values are while they are away
  std::unique_ptr<Stream> out_, in_;               ///< one each way: a link carries both at once
  IdVector<StepId, std::shared_ptr<Event>> done_;  ///< per step that is awaited
  Waits exposed_;                                  ///< of this run of steps
  bool copied_ = false;                            ///< in this run of steps
  bool apart_ = false;                          ///< copies may be under way that the compute stream does not wait for
  bool recording_ = false, was_apart_ = false;  ///< a group is recorded; apart_ before it
  Group recorded_;                              ///< of that
  std::optional<Group> complete_;               ///< recorded, and not launched yet
  std::map<const Recording*, Group> groups_;    ///< of recordings that there are
  CopyTotals totals_;
};

}  // namespace robusta
