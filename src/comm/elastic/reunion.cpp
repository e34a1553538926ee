// A refused connection says for sure that a process is gone, since a member listens as long as it lives; silence says
// nothing for sure. So the dead are not waited for, and not counted; the silent are both, for a while.

#include "comm/elastic/reunion.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "comm/liveness/messages.h"

namespace robusta::elastic {
namespace {

constexpr double kBetweenLooks = 0.02;  // seconds between two looks at what others say
constexpr double kBetweenProbes = 0.5;  // of members that do not come

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

}  // namespace

Reunion::Reunion(Standing& standing, const Admission& last, const Blame& blame, Gathering& gathering, int own,
                 const std::function<std::vector<int>()>& open_door, const Times& times)
    : standing_(standing),
      last_(last),
      blame_(blame),
      gathering_(gathering),
      listeners_{own},
      open_door_(open_door),
      times_(times) {
  liveness::copy_text(mine_.secret, standing.secret);
  mine_.errand = Errand::kReturn;
  mine_.token = last.token;
  mine_.rank = last.rank;
  mine_.ranks = ranks();
  mine_.self = standing.self;
  mine_.office = standing.office;
}

ReunionEnd Reunion::run(int64_t progress) {
  mine_.progress = progress;
  while (const std::optional<int> above = next_above()) {
    part_ = Part::kCalling;
    if (std::optional<ReunionEnd> end = call(*above)) return *std::move(end);
  }
  return lead();
}

/// Nobody asks a host that has fallen silent first: those behind it would all wait for nothing.
bool Reunion::suspected(int rank) const {
  if (blame_.rank < 0 || !(blame_.silent || blame_.given_up)) return false;
  if (rank == blame_.rank) return true;
  return blame_.silent && std::string(member(rank).host) == member(blame_.rank).host && rank != last_.rank;
}

std::optional<int> Reunion::next_above() const {
  for (int rank = 0; rank < last_.rank; ++rank) {
    if (!gone_.contains(rank) && !passed_.contains(rank) && !suspected(rank)) return rank;
  }
  return {};
}

std::optional<ReunionEnd> Reunion::call(int rank) {
  // It answers when it has come out of what it was doing. Who takes the call and hangs up is called again.
  const auto began = Clock::now();
  bool reached = false;
  while (seconds_since(began) < times_.answer || part_ == Part::kFollowing) {
    OutgoingCall call(member(rank).address, member(rank).port, mine_);
    for (;;) {
      serve(kBetweenLooks);
      const OutgoingCall::State state = call.step();
      if (state == OutgoingCall::State::kNobody) return gone_.insert(rank), std::nullopt;
      if (state == OutgoingCall::State::kWaiting && part_ == Part::kCalling) {
        part_ = Part::kFollowing;
        leader_ = member(rank);
        gathering_.dismiss(elsewhere(leader_), [](const auto&) { return true; });
      }
      if (state == OutgoingCall::State::kClosed) break;
      if (std::optional<ReunionEnd> end = ended(call)) return end;
      if (state == OutgoingCall::State::kElsewhere) break;
      if (call.quiet() > (part_ == Part::kFollowing ? kLeaderIsLost : times_.answer)) break;
    }
    reached = reached || call.reached();
    if (call.state() == OutgoingCall::State::kElsewhere) {
      // It follows another old member, which is the one to be called; of any other place this one is somebody new.
      const auto found =
          std::ranges::find_if(last_.members, [&](const Member& m) { return same_place(m, call.place()); });
      if (found == last_.members.end()) return ReunionEnd{.why = "its place is elsewhere now", .place = call.place()};
      const int next = static_cast<int>(found - last_.members.begin());
      if (next >= last_.rank || next == rank) break;
      part_ = Part::kCalling;
      return this->call(next);
    }
    if (part_ == Part::kFollowing) break;
    serve(0.1);
  }
  part_ = Part::kCalling;
  pass(rank, reached);
  return {};
}

/// Of a host that could not be reached no other rank is tried.
void Reunion::pass(int rank, bool reached) {
  passed_.insert(rank);
  for (int other = 0; !reached && other < ranks(); ++other) {
    if (std::string(member(other).host) == member(rank).host) passed_.insert(other);
  }
}

std::optional<ReunionEnd> Reunion::ended(const OutgoingCall& call) {
  switch (call.state()) {
    case OutgoingCall::State::kAdmitted:
      return ReunionEnd{.admission = call.admission()};
    case OutgoingCall::State::kRefused:
      return ReunionEnd{.why = call.why(), .place = {}};
    case OutgoingCall::State::kOver:
      return ReunionEnd{.job_code = call.code(), .why = call.why()};
    default:
      return {};
  }
}

void Reunion::serve(double seconds) {
  gathering_.serve(listeners_, std::chrono::milliseconds(static_cast<int>(seconds * 1000)),
                   [this](const Call& call) { return judge(call); });
}

std::optional<Answer> Reunion::judge(const Call& call) {
  if (call.errand == Errand::kSummon) return Answer{};
  if (part_ == Part::kFollowing) return elsewhere(leader_);
  if (call.errand == Errand::kJoin) {
    if (!standing_.ledger.keeps_out(call.self.host)) return {};
    return refusal(str(call.self.host, " was lost ", Ledger::kMostLosses, " times and is kept out of this job"));
  }
  if (call.token != last_.token) return refusal("the generation of this rank is over");
  // What it missed, and why, it does not know itself; its state is not that of the others any more.
  if (blame_.given_up && call.rank == blame_.rank) return refusal("the others have gone on without this rank");
  return {};
}

std::vector<int> Reunion::missing() const {
  std::vector<int> absent;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto has_come = [&](const Gathering::Caller& caller) {
      return caller.call.errand == Errand::kReturn && caller.call.rank == rank;
    };
    if (rank == last_.rank || gone_.contains(rank)) continue;
    if (blame_.given_up && rank == blame_.rank) continue;
    if (std::ranges::none_of(gathering_.callers(), has_come)) absent.push_back(rank);
  }
  return absent;
}

bool Reunion::has_majority() const {
  int counted = 0, here = 0, lowest = -1;
  bool lowest_is_here = false;
  const std::vector<int> absent = missing();
  for (int rank = 0; rank < ranks(); ++rank) {
    if (gone_.contains(rank)) continue;
    const bool given_up = blame_.given_up && rank == blame_.rank;
    const bool is_here = !given_up && !std::ranges::binary_search(absent, rank);
    ++counted;
    here += is_here ? 1 : 0;
    if (lowest < 0) lowest_is_here = is_here;
    if (lowest < 0) lowest = rank;
  }
  return 2 * here > counted || (2 * here == counted && lowest_is_here);
}

/// Whether only those are a majority of whom the dead are not counted.
bool Reunion::counts_on_the_dead() const {
  return 2 * (ranks() - static_cast<int>(missing().size() + gone_.size())) <= ranks();
}

/// Members may have ended since: when this process was stopped or cut off for long, others have taken their places.
std::optional<Member> Reunion::running_job() {
  const auto is_meeting_port = [&](int listener) {
    sockaddr_in own{};
    socklen_t bytes = sizeof own;
    return getsockname(listener, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
           ntohs(own.sin_port) == standing_.meeting_port;
  };
  const bool own_door = std::ranges::any_of(listeners_, is_meeting_port);
  Call question = mine_;
  question.errand = Errand::kJoin;
  std::map<Address, OutgoingCall> asked;
  for (const Member& member : last_.members) {
    if (own_door && member.address == standing_.self.address) continue;
    asked.try_emplace(member.address, member.address, standing_.meeting_port, question);
  }
  const auto began = Clock::now();
  for (bool open = true; open && seconds_since(began) < times_.silent;) {
    open = false;
    for (auto& [address, call] : asked) {
      const OutgoingCall::State state = call.step();
      if (state == OutgoingCall::State::kElsewhere) return call.place();
      if (state == OutgoingCall::State::kWaiting || state == OutgoingCall::State::kRefused) return call.called();
      open = open || state == OutgoingCall::State::kCalling;
    }
    serve(kBetweenLooks);
  }
  return {};
}

/// Calls those that have not come: a refusal to connect tells that they never will.
void Reunion::probe_missing() {
  Call nothing;  // without the secret: it is not answered, and only the connection counts
  for (const int rank : missing()) {
    const auto [probe, is_new] = probes_.try_emplace(rank, member(rank).address, member(rank).port, nothing);
    switch (probe->second.step()) {
      case OutgoingCall::State::kNobody:
        gone_.insert(rank);
        probes_.erase(probe);
        break;
      case OutgoingCall::State::kClosed:
        probes_.erase(probe);
        break;
      default:
        if (probe->second.quiet() > kBetweenProbes) probes_.erase(probe);
    }
  }
}

/// A leader that comes late finds that the others follow somebody else, and does so, too.
std::optional<ReunionEnd> Reunion::look_for_leader(double seconds) {
  if (has_majority()) return above_.reset(), std::nullopt;
  const std::vector<int> absent = missing();
  if (!above_ && !absent.empty() && seconds > times_.answer / 4)
    above_.emplace(member(absent[0]).address, member(absent[0]).port, mine_);
  if (!above_) return {};
  const OutgoingCall::State state = above_->step();
  if (std::optional<ReunionEnd> end = ended(*above_)) return end;
  if (state == OutgoingCall::State::kElsewhere) {
    // Of one that has just begun to follow this rank itself, the place is here.
    const Member place = above_->place();
    above_.reset();
    if (!same_place(place, mine_.self)) above_.emplace(place.address, place.port, mine_);
  } else if (state == OutgoingCall::State::kClosed || state == OutgoingCall::State::kNobody) {
    above_.reset();
  }
  return {};
}

ReunionEnd Reunion::lead() {
  part_ = Part::kLeading;
  for (const int door : open_door_()) listeners_.push_back(door);
  const auto began = Clock::now();
  bool told = false;
  for (;;) {
    serve(kBetweenLooks);
    probe_missing();
    if (std::optional<ReunionEnd> end = look_for_leader(seconds_since(began))) return *std::move(end);
    const std::vector<int> absent = missing();
    const bool only_silent = std::ranges::all_of(absent, [&](int rank) { return suspected(rank); });
    const double waited = seconds_since(began);
    if (!absent.empty() && waited < (only_silent ? times_.silent : times_.come)) continue;
    // One that waits for another leader's word waits as long as that does.
    const bool follows = above_ && above_->state() == OutgoingCall::State::kWaiting && above_->quiet() < kLeaderIsLost;
    if (!has_majority() && follows && waited < 2 * times_.come) continue;
    if (!has_majority()) {
      gathering_.dismiss(refusal("too few of its ranks are left to go on"), [](const auto&) { return true; });
      return {.why = str("this host reaches ", ranks() - static_cast<int>(absent.size() + gone_.size()), " of ",
                         ranks(), " ranks: the others go on without it")};
    }
    if (counts_on_the_dead() && !std::exchange(asked_around_, true)) {
      if (const std::optional<Member> place = running_job()) return {.why = "the job runs elsewhere", .place = *place};
    }
    if (std::optional<ReunionEnd> end = try_to_admit()) return *std::move(end);
    if (waited > standing_.meeting_seconds) {
      const std::string how = str("fewer than ", standing_.bounds.fewest, " ranks are left, and no others came within ",
                                  standing_.meeting_seconds, " s");
      gathering_.dismiss(job_is_over(8, how), [](const auto&) { return true; });
      return {.job_code = 8, .led = true, .why = how};
    }
    if (!told) {
      LOG_WARNING << "Elastic: waiting for more ranks: fewer than " << standing_.bounds.fewest << " are here";
      told = true;
    }
  }
}

std::optional<ReunionEnd> Reunion::try_to_admit() {
  Admitting admitting(standing_, gathering_, listeners_, [this](const Call& call) { return judge(call); });
  std::optional<Admission> admission = admitting.admit(mine_, ledger_with_losses());
  if (!admission) return {};
  if (admission->rank > 0) {
    Member first = admission->members[0];
    first.port = standing_.meeting_port;
    gathering_.dismiss(elsewhere(first), [](const auto&) { return true; });
  }
  return ReunionEnd{.admission = std::move(admission)};
}

/// Once for each host that has lost ranks.
Ledger Reunion::ledger_with_losses() const {
  Ledger ledger = standing_.ledger;
  std::set<std::string> hosts;
  for (const int rank : missing()) hosts.insert(member(rank).host);
  for (const int rank : gone_) hosts.insert(member(rank).host);
  if (blame_.given_up) hosts.insert(member(blame_.rank).host);
  for (const std::string& host : hosts) ledger.note(host, steady_seconds());
  return ledger;
}

}  // namespace robusta::elastic
