// A founder cannot know whether the job that it is to found runs already under another first rank: it asks where it is
// told to, and the first rank of a running job looks now and then where founders listen (door.h).

#include "comm/elastic/arrival.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/str.h"
#include "comm/host_name.h"
#include "comm/liveness/messages.h"
#include "robusta/error.h"

namespace robusta::elastic {
namespace {

constexpr double kAnsweredWithin = 2;  // seconds, by somebody who is there
constexpr std::chrono::milliseconds kSoon{20}, kIdleLook{100}, kBetweenRounds{200};
constexpr double kBetweenQuestions = 2;  // of a founder

Error failed(const std::string& why, const std::string& fix) { return Error(ErrorKind::kCommunication, why, fix); }

constexpr char kStart[] =
    "start all ranks with the same MASTER_ADDR, MASTER_PORT, ROBUSTA_TOKEN and -elastic; name more hosts of the job in "
    "ROBUSTA_PEERS, where the first may have gone; ROBUSTA_MEETING_SECONDS is how long ranks wait for each other";

Call introduction(const Standing& standing, Errand errand) {
  Call call;
  call.errand = errand;
  liveness::copy_text(call.secret, standing.secret);
  call.rank = standing.launch_rank;
  call.ranks = standing.launch_ranks;
  call.self = standing.self;
  call.office = standing.office;
  return call;
}

}  // namespace

Arrival::Arrival(Standing& standing, Descriptor& calls, Descriptor& office, std::vector<Address> known)
    : standing_(standing),
      calls_(calls),
      office_(office),
      known_(std::move(known)),
      deadline_(Clock::now() +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(standing.meeting_seconds))),
      gathering_(standing.secret) {}

ArrivalEnd Arrival::run() { return may_found() ? found() : seek(); }

double Arrival::seconds_left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

void Arrival::listen_for_members(Address own) {
  if (calls_.is_open() && standing_.self.address == own) return;
  const auto listen = [&](Descriptor& listener, Member& place) {
    uint16_t port = 0;
    listener = sockets::listen_at(own, port);
    if (!listener.is_open()) throw failed(str("this rank cannot listen: ", strerror(errno)), "");
    place.address = own;
    place.port = port;
    liveness::copy_text(place.host, host_name());
  };
  listen(calls_, standing_.self);
  listen(office_, standing_.office);
}

std::unique_ptr<OutgoingCall> Arrival::call(const Member& place) {
  return std::make_unique<OutgoingCall>(place.address, place.port, introduction(standing_, Errand::kJoin),
                                        [this](Call& call, Address own) {
                                          listen_for_members(own);
                                          call.self = standing_.self;
                                          call.office = standing_.office;
                                        });
}

std::vector<Member> Arrival::places() const {
  std::vector<Member> found;
  const auto add = [&](Address address) {
    Member place;
    place.address = address;
    place.port = standing_.meeting_port;
    const auto is_there = [&](const Member& other) { return same_place(other, place); };
    if (std::ranges::none_of(found, is_there)) found.push_back(place);
  };
  std::vector<std::string> names{standing_.meeting_host};
  names.insert(names.end(), standing_.peers.begin(), standing_.peers.end());
  for (const std::string& name : names) {
    try {
      add(sockets::resolve(name));
    } catch (const Error&) {
      // The name of a host that is being started anew is not known for a while.
    }
  }
  for (const Address address : known_) add(address);
  return found;
}

ArrivalEnd Arrival::seek() {
  while (seconds_left() > 0) {
    std::vector<Member> round;
    if (next_.empty()) {
      round = places();
      std::this_thread::sleep_for(kBetweenRounds);
    } else {
      round.push_back(next_.front());
      next_.pop_front();
    }
    for (const Member& place : round) {
      if (std::optional<ArrivalEnd> end = ask(place)) return *std::move(end);
      if (!next_.empty()) break;
    }
  }
  give_up();
}

void Arrival::give_up() const {
  throw failed(str("nobody lets this rank into the job within ", standing_.meeting_seconds, " s, asked at ",
                   standing_.meeting_host, ":", standing_.meeting_port, standing_.peers.empty() ? "" : " and elsewhere",
                   last_words_.empty() ? "" : ": " + last_words_),
               kStart);
}

std::optional<ArrivalEnd> Arrival::ask(const Member& place) {
  const std::unique_ptr<OutgoingCall> question = call(place);
  for (;;) {
    switch (question->step()) {
      case OutgoingCall::State::kCalling:
        if (question->quiet() > kAnsweredWithin) return {};
        std::this_thread::sleep_for(kSoon);
        break;
      case OutgoingCall::State::kWaiting:
        // Whoever waits in line waits as long as the job runs.
        deadline_ = std::max(deadline_, Clock::now() + std::chrono::seconds(30));
        if (question->quiet() > kLeaderIsLost) return {};
        std::this_thread::sleep_for(kIdleLook);
        break;
      case OutgoingCall::State::kAdmitted:
        return ArrivalEnd{.admission = question->admission()};
      case OutgoingCall::State::kOver:
        return ArrivalEnd{.job_code = question->code(), .why = question->why()};
      case OutgoingCall::State::kElsewhere:
        next_.push_back(question->place());
        return {};
      case OutgoingCall::State::kRefused:
        throw failed(question->why(), kStart);
      default:
        last_words_ = str("no rank listens at ", place_text(place.address, place.port));
        return {};
    }
  }
}

std::optional<Answer> Arrival::judge(const Call& call) {
  switch (call.errand) {
    case Errand::kSummon:
      summoned_ = call.self;
      return Answer{};
    case Errand::kReturn:
      return refusal("the job of this rank is no more");
    case Errand::kJoin:
      break;
  }
  for (const Gathering::Caller& caller : gathering_.callers()) {
    if (caller.call.rank != call.rank || same_place(caller.call.self, call.self)) continue;
    return refusal(str("two processes say that they are rank ", call.rank, ", on ", caller.call.self.host, " and on ",
                       call.self.host));
  }
  return {};
}

bool Arrival::all_have_come() const {
  std::set<int> ranks;
  for (const Gathering::Caller& caller : gathering_.callers()) {
    if (caller.call.rank > 0 && caller.call.rank < standing_.launch_ranks) ranks.insert(caller.call.rank);
  }
  return static_cast<int>(ranks.size()) == standing_.launch_ranks - 1;
}

/// Where a job runs already, if that is known by now.
std::optional<Member> Arrival::running_job() {
  if (summoned_) return summoned_;
  if (standing_.peers.empty()) return {};
  if (!question_) {
    std::vector<Member> others = places();
    std::erase_if(others, [&](const Member& place) { return place.address == standing_.self.address; });
    if (others.empty()) return {};
    question_ = call(others[asked_++ % others.size()]);
  }
  const OutgoingCall::State state = question_->step();
  const bool heard = state == OutgoingCall::State::kWaiting || state == OutgoingCall::State::kElsewhere;
  if (heard) return state == OutgoingCall::State::kElsewhere ? question_->place() : question_->called();
  if (state != OutgoingCall::State::kCalling || question_->quiet() > kBetweenQuestions) question_.reset();
  return {};
}

ArrivalEnd Arrival::found() {
  const Address address = sockets::resolve_before(standing_.meeting_host, deadline_);
  listen_for_members(address);
  uint16_t port = standing_.meeting_port;
  Descriptor listener = sockets::listen_at(address, port);
  if (!listener.is_open() && errno == EADDRINUSE) return seek();  // by a rank of this host that leads
  if (!listener.is_open()) {
    throw failed(str("rank 0 cannot listen at ", standing_.meeting_host, ":", port, ": ", strerror(errno)),
                 errno == EADDRNOTAVAIL ? "MASTER_ADDR has to be an address of the host of rank 0"
                                        : "choose another port (MASTER_PORT, or ROBUSTA_PORT)");
  }
  const int listeners[] = {listener.get()};
  const auto judged = [this](const Call& call) { return judge(call); };
  Admitting admitting(standing_, gathering_, listeners, judged);
  for (;;) {
    gathering_.serve(listeners, kSoon, judged);
    if (const std::optional<Member> place = running_job()) {
      LOG_INFO << "Elastic: the job runs already, at " << place_text(place->address, place->port);
      gathering_.dismiss(elsewhere(*place), [](const auto&) { return true; });
      question_.reset();
      next_.push_front(*place);
      listener = Descriptor();
      return seek();
    }
    const bool late = seconds_left() <= 0;
    if (!all_have_come() && !late) continue;
    std::optional<Admission> admission = admitting.admit(introduction(standing_, Errand::kReturn), standing_.ledger);
    if (admission) return {.admission = std::move(admission)};
    if (late) {
      gathering_.dismiss(refusal("too few ranks came to begin"), [](const auto&) { return true; });
      throw failed(
          str("only ", gathering_.callers().size() + 1, " of at least ", standing_.bounds.fewest, " ranks came to ",
              standing_.meeting_host, ":", standing_.meeting_port, " within ", standing_.meeting_seconds, " s"),
          kStart);
    }
  }
}

}  // namespace robusta::elastic
