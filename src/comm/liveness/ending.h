/// What a process does last: report, exit file, the owner's callback.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "comm/liveness/failure.h"
#include "comm/liveness/verdict.h"
#include "comm/liveness/watch_state.h"

namespace robusta::liveness {

Failure describe(const Verdict& verdict, const Roster& roster, RankId mine);

/// A stopped process cannot end itself, and some launchers leave it behind: the ranks of its host kill it.
void kill_stopped(const Verdict& verdict, const Roster& roster, RankId mine);

/// Runs on a thread of its own, which is left behind when it hangs: a full pipe or a lock that the training thread
/// holds must not keep the process from ending.
class LastWords {
 public:
  /// Kills the stopped rank if it is on this host, writes the exit file, prints what `say` asks for, calls the owner.
  LastWords(const Verdict& verdict, Say say, const Roster& roster, RankId mine,
            std::function<void(const Failure&)> on_failure);
  bool spoken() const;

 private:
  std::future<void> done_;
};

}  // namespace robusta::liveness
