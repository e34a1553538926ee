/// Why a job ends, and what the owner of a watch decides about it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/liveness/messages.h"

namespace robusta {

using liveness::Activity;

/// Why the job ends.
struct Failure {
  liveness::Fault fault = liveness::Fault::kEnded;
  int code = 0;      ///< exit code of all ranks
  int rank = -1;     ///< the rank at fault
  bool own = false;  ///< it is the error that this rank announced
  std::string host;
  int pid = 0;             ///< on that host
  int64_t iteration = -1;  ///< the last that is known of it, -1: before the first
  std::string doing;       ///< the last that it said of itself
  std::string line;        ///< all in one line
};

struct LivenessOptions {
  double timeout_s = 60;  ///< the same on all ranks; 0: no watch
  double beat_s = 0;      ///< 0: a thirtieth of the timeout, at most 1 s
  double connect_s = 30;  ///< for all neighbours to be reached at the start
  /// Called once, on a thread of its own, before the process ends by a failure of another rank, to flush logs; it
  /// gets three seconds.
  std::function<void(const Failure&)> on_failure;
  /// True: the ranks go on without the one at fault (-elastic). Asked once, by the watch's own thread, before anything
  /// is printed or written; then the watch is over, and the process is not ended.
  std::function<bool(const Failure&)> goes_on;
  /// Ends the process; tests replace it.
  std::function<void(int code)> end_process;
};

}  // namespace robusta
