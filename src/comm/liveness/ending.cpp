// What may hang, the owner's callback, comes after the report and the exit file are out.
//
// They are said by a thread of their own that nobody joins: writing to a pipe that nobody reads may hang, too, and the
// process ends without it then.

#include "comm/liveness/ending.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "comm/liveness/exit_file.h"

namespace robusta::liveness {
namespace {

/// The two sides of a cut accuse each other; the exit file should say what rank 0 does, as long as that can speak.
constexpr std::chrono::milliseconds kAfterReport{1500};

/// Silence within a host is no cut of the network: there nobody is waited for, as mpirun ends the ranks soon after one
/// of them has been killed.
bool may_be_cut(const Verdict& verdict, const Roster& roster) {
  return verdict.fault == Fault::kSilent &&
         std::string(roster[verdict.rank].host) != std::string(roster[verdict.judge].host);
}

/// One call as far as the system allows, so that lines of several ranks do not mix.
void print(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) at += static_cast<size_t>(written);
  }
}

}  // namespace

void kill_stopped(const Verdict& verdict, const Roster& roster, RankId mine) {
  const Contact& me = roster[mine];
  const Contact& it = roster[verdict.rank];
  // A host is judged from elsewhere too, when it is cut off; then its ranks are well, and end by themselves.
  const Contact& judge = roster[verdict.judge];
  const bool on_this_host = std::string(it.host) == me.host && std::string(judge.host) == me.host && it.pid != me.pid;
  if (verdict.fault != Fault::kSilent || !on_this_host) return;
  // Containers may share a host name and not the numbers of processes.
  if (it.started != 0 && process_start(it.pid) == it.started) kill(it.pid, SIGKILL);
}

Failure describe(const Verdict& verdict, const Roster& roster, RankId mine) {
  const Contact& who = roster[verdict.rank];
  Failure failure;
  failure.fault = verdict.fault;
  failure.code = verdict.code;
  failure.rank = verdict.rank.number();
  failure.own = verdict.fault == Fault::kEnded && verdict.rank == mine;
  failure.host = who.host;
  failure.pid = who.pid;
  failure.iteration = verdict.last.iteration;
  failure.doing = verdict.last.doing;
  failure.line = one_line(verdict, roster);
  return failure;
}

LastWords::LastWords(const Verdict& verdict, Say say, const Roster& roster, RankId mine,
                     std::function<void(const Failure&)> on_failure) {
  std::promise<void> promise;
  done_ = promise.get_future();
  std::thread([=, promise = std::move(promise)]() mutable {
    const Failure failure = describe(verdict, roster, mine);
    kill_stopped(verdict, roster, mine);
    if (say == Say::kReport) print(report(verdict, roster));
    if (say == Say::kLine) print(short_line(verdict, roster, mine));
    if (may_be_cut(verdict, roster) && mine != RankId(0)) std::this_thread::sleep_for(kAfterReport);
    write_exit_file(failure.code, failure.rank, verdict.fault == Fault::kEnded ? verdict.text : failure.line);
    try {
      if (on_failure && !failure.own) on_failure(failure);
    } catch (...) {
      // The process ends in any case, and by the failure rather than by this.
    }
    promise.set_value();
  }).detach();
}

bool LastWords::spoken() const { return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

}  // namespace robusta::liveness
