// Verdicts are ordered totally, so that all ranks agree on one whatever order they hear of several in.

#include "comm/liveness/verdict.h"

#include <cmath>
#include <ctime>
#include <utility>

#include "base/str.h"
#include "comm/liveness/restart_code.h"
#include "robusta/error.h"

namespace robusta::liveness {
namespace {

const char* program() { return program_invocation_short_name; }

/// How near to the cause verdicts of this kind are, nearest first.
int distance(const Verdict& verdict) {
  switch (verdict.fault) {
    case Fault::kEnded:
      return verdict.code == static_cast<int>(ErrorKind::kCommunication) ? 4 : 0;
    case Fault::kDied:
      return 1;
    case Fault::kSilent:
      return 2;
    case Fault::kStalled:
      return 3;
    case Fault::kDeadlock:
      return 5;
  }
  return 6;
}

std::string seconds(double duration) {
  const double rounded = duration < 10 ? std::round(duration * 10) / 10 : std::round(duration);
  return str(rounded, " s");
}

std::string wall_time(int64_t seconds_since_1970) {
  const std::time_t time = seconds_since_1970;
  std::tm parts{};
  localtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// "rank 5 on node3 (pid 4711)"
std::string name(const Roster& roster, RankId rank) {
  const Contact& who = roster[rank];
  return str("rank ", rank, " on ", who.host, " (pid ", who.pid, ")");
}

/// "gets no answer from node3: ..."
std::string what_is_unanswered(const Verdict& verdict, const Roster& roster) {
  const Unanswered& unanswered = verdict.unanswered;
  return str("gets no answer from ", roster[unanswered.to].host,
             ": what it has sent there has not been acknowledged for ", seconds(unanswered.seconds),
             ", and all ranks wait for each other");
}

std::string what_happened(const Verdict& verdict, const Roster& roster) {
  switch (verdict.fault) {
    case Fault::kEnded:
      return str("has ended: ", verdict.text);
    case Fault::kDied:
      return "has died: its process is gone without a word";
    case Fault::kSilent:
      return str("has not been heard of for ", seconds(verdict.quiet),
                 ": it is stopped, or its host or the network to it is down");
    case Fault::kStalled:
      return str("stands still for ", seconds(verdict.quiet));
    case Fault::kDeadlock:
      if (verdict.unanswered.to) return what_is_unanswered(verdict, roster);
      return str("is furthest behind of ranks that all wait for each other, for ", seconds(verdict.quiet));
  }
  return "";
}

std::string doing(const Status& last) {
  static const char* const kinds[] = {"computing", "waiting for other ranks", "in a long step", "finished"};
  std::string text = last.doing[0] == '\0' ? "" : str(last.doing, ", ");
  text += kinds[static_cast<size_t>(last.activity)];
  text += last.iteration < 0 ? ", before the first iteration" : str(", iteration ", last.iteration);
  return text;
}

/// "ranks 4-5, 12"
std::string ranks_of_host(const Roster& roster, const std::string& host) {
  std::string text;
  int count = 0;
  for (RankId first(0); first < roster.end_id(); ++first) {
    if (roster[first].host != host) continue;
    RankId last = first;
    while (roster.contains(last + 1) && roster[last + 1].host == host) ++last;
    text += (text.empty() ? "" : ", ") + (first == last ? str(first) : str(first, "-", last));
    count += last - first + 1;
    first = last;
  }
  return (count == 1 ? "rank " : "ranks ") + text;
}

std::string advice(const Verdict& verdict, const Roster& roster, const std::string& host) {
  switch (verdict.fault) {
    case Fault::kEnded:
      return "";
    case Fault::kDied:
      return str("look for its last words above, and for an out-of-memory kill in the kernel log of ", host);
    case Fault::kSilent:
      return str("look whether ", host, " is up and reached by the others; -timeout waits longer");
    case Fault::kStalled:
      return "look at its disk, its data source and the load of its host; where a step may take that long, raise "
             "-timeout";
    case Fault::kDeadlock:
      if (const RankId to = verdict.unanswered.to)
        return str("look at the network between ", host, " and ", roster[to].host, "; -timeout waits longer");
      return str("look at the network between the hosts; a fabric that is only slow needs a larger -timeout");
  }
  return "";
}

}  // namespace

bool is_better(const Verdict& a, const Verdict& b) {
  return std::make_pair(distance(a), a.rank) < std::make_pair(distance(b), b.rank);
}

std::string one_line(const Verdict& verdict, const Roster& roster) {
  return str(name(roster, verdict.rank), " ", what_happened(verdict, roster));
}

std::string report(const Verdict& verdict, const Roster& roster) {
  const std::string host = roster[verdict.rank].host;
  std::string text = str(program(), ": error: ", one_line(verdict, roster), "\n");
  text += str("  last known  ", doing(verdict.last), "\n");
  text += str("  last sign   ", wall_time(verdict.last_sign), ", ", seconds(verdict.quiet), " before this report\n");
  text += str("  its host    ", host, " has ", ranks_of_host(roster, host), "\n");
  if (verdict.last.starved >= 1) {
    text += str("  overload    before, its threads waited ", seconds(verdict.last.starved),
                " for a processor: more runs there than it has processors\n");
  }
  text += str("  found by    ", name(roster, verdict.judge), "\n");
  if (verdict.alone) {
    text +=
        str("  but         all other hosts fell silent together: rather ", roster[verdict.judge].host, " is cut off\n");
  }
  text += str("  to do       ", advice(verdict, roster, host), "; go on from the last snapshot with -snapshot auto\n");
  return text + str("All ", roster.size(), " ranks end with code ", final_code(verdict.code), ".\n");
}

std::string short_line(const Verdict& verdict, const Roster& roster, RankId mine) {
  return str(program(), ": error: ", name(roster, mine), " ends with code ", final_code(verdict.code),
             ", because it has lost the way to rank 0: ", one_line(verdict, roster),
             verdict.alone ? "; all other hosts fell silent together, so this one is cut off\n" : "\n");
}

}  // namespace robusta::liveness
