/// Watches that all ranks of a job live and move, over TCP connections of its own, and ends the process when one does
/// not: calls of MPI cannot be left, and a job that hangs without a word costs its users more than one that ends.
///
/// One thread per process. Each rank is linked to few others (tree.h), so that a job of thousands of ranks costs each
/// process a few messages per beat. The fault of a rank becomes a verdict (watch_state.h) that all ranks learn:
///   * its process is gone: at once
///   * it is stopped, cut off, or its host is down: after `timeout_s` of silence; a cut that heals before is forgiven
///   * its thread computes, or is in a long step, without a sign of progress: after `timeout_s`, or the step's limit
///     (a message that arrives is progress; time in which its threads had no processor counts for nobody, up to four
///     times the timeout)
///   * all ranks wait for each other: `timeout_s` and a few beats after the last of them moved
///   * it ended by an error of its own and said so (announce_end): at once, and all end with the code of that error
/// Every process that can then runs on_failure and ends by _exit within five seconds, whatever its other threads
/// are stuck in; rank 0 prints the report (when it is itself the one at fault, the next host does). A stopped process
/// is killed by the ranks on its host, when there are any.
///
/// Owner: the thread that trains; it constructs, calls progress() and doing(), and says goodbye() before it leaves MPI.
/// touch() and peer_failed() may be called from any thread. A job of one rank, or a timeout of 0, is not watched: all
/// calls do nothing. Keep it alive until the process ends: after the destructor nobody watches.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "comm/communicator.h"
#include "comm/liveness/failure.h"

namespace robusta {

namespace liveness {
class WatchThread;
}

class LivenessWatch {
 public:
  /// Collective. Throws Error{kCommunication}, the same on all ranks, when a rank cannot reach its neighbour.
  LivenessWatch(Communicator& world, LivenessOptions options);
  /// Without goodbye() or announce_end() the others take it for a death.
  ~LivenessWatch();

  /// False when the job has one rank or a timeout of 0.
  bool watches() const { return thread_ != nullptr; }
  /// Iteration `iteration` begins.
  void progress(int64_t iteration);
  /// What this rank does from now on (at most 63 characters are kept). Costs some ten nanoseconds. `limit_s`: of
  /// kPausing, how long the step may take, when that is more than the timeout. Until the first call a rank pauses
  /// without a limit.
  void doing(std::string_view what, Activity activity = Activity::kComputing, double limit_s = 600);
  /// Another activity while it does the same: what it says stays. Returns what the activity was.
  Activity switch_to(Activity activity);
  /// A sign of progress within what it is doing.
  void touch();

  /// This rank ends by an error. Returns within four seconds, when the others know: the failure all ranks agreed on,
  /// which is another rank's where that is nearer to the cause. The caller prints its error only when `own`, and exits
  /// with `code`; five seconds later the watch does. The exit file is written.
  Failure announce_end(int code, const std::string& text);
  /// This rank has nothing left to do. Returns when no rank has, or ends the process as before when one fails.
  void goodbye();

  /// Whether the job is about to end: nothing collective is worth starting.
  bool peer_failed() const;
  struct Straggler {
    int rank = -1;
    int64_t iteration = -1;
    double still_s = 0;  ///< since it last moved
    std::string doing;
  };
  /// On rank 0: the rank furthest behind, a beat per level of the tree ago. Elsewhere: of the ranks below this one.
  Straggler straggler() const;

 private:
  int rank_;
  std::unique_ptr<liveness::WatchThread> thread_;
};

}  // namespace robusta
