// A process keeps one listener for calls as long as it lives: so a refused connection means that it is gone,
// and its place is its name from generation to generation.

#include "comm/elastic/elastic_world.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "base/log.h"
#include "base/str.h"
#include "comm/elastic/arrival.h"
#include "comm/elastic/reunion.h"
#include "comm/end_of_generation.h"
#include "comm/launch.h"
#include "comm/sockets/post_office.h"
#include "comm/sockets/socket_communicator.h"
#include "comm/sockets/user_secret.h"
#include "robusta/error.h"

namespace robusta {

using elastic::Admission;
using elastic::Member;

namespace {

constexpr std::chrono::seconds kEstablishedWithin{20};

/// Within which losses of a host count together.
double flapping_seconds() {
  const char* const text = std::getenv("ROBUSTA_FLAP_SECONDS");
  if (!text || !*text) return 600;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end == 0 && seconds >= 0 && seconds <= 86'400) return seconds;
  throw Error(ErrorKind::kUsage, str("ROBUSTA_FLAP_SECONDS=", text), "give seconds, from 0 to 86400");
}

std::vector<std::string> peers() {
  const char* const text = std::getenv("ROBUSTA_PEERS");
  std::vector<std::string> names;
  std::istringstream list(text ? text : "");
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

elastic::Standing standing_of(const ElasticBounds& bounds) {
  const Launch launch = own_launch();
  check_told(launch);
  if (launch.meeting_host.empty()) {
    const std::string who = launch.has_rendezvous ? launch.launcher +
                                                        " started this process, and MPI ends the job when "
                                                        "a rank dies"
                                                  : "this process was not told where other ranks meet";
    throw Error(ErrorKind::kUsage, "-ddl -elastic: " + who,
                "start ranks with RANK, WORLD_SIZE (at least 2), MASTER_ADDR and MASTER_PORT, as torchrun sets them");
  }
  elastic::Standing standing;
  standing.bounds = bounds;
  standing.secret = sockets::user_secret();
  if (standing.secret.size() >= sizeof elastic::Call::secret) {
    throw Error(ErrorKind::kCommunication, "ROBUSTA_TOKEN has more than 127 characters",
                "openssl rand -hex 16 makes one");
  }
  standing.meeting_host = launch.meeting_host;
  standing.meeting_port = launch.meeting_port;
  standing.peers = peers();
  standing.launch_rank = launch.rank;
  standing.launch_ranks = launch.ranks;
  standing.meeting_seconds = sockets::meeting_seconds();
  standing.ledger = elastic::Ledger(flapping_seconds());
  return standing;
}

bool is_in(const std::vector<Member>& members, const Member& one) {
  return std::ranges::any_of(members, [&](const Member& member) { return elastic::same_place(member, one); });
}

/// "node1 (2), node3"
std::string hosts_of(const std::vector<Member>& members) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const Member& member : members) {
    const auto found = std::ranges::find(hosts, std::string(member.host), &std::pair<std::string, int>::first);
    if (found == hosts.end()) {
      hosts.emplace_back(member.host, 1);
    } else {
      ++found->second;
    }
  }
  std::string text;
  for (const auto& [host, count] : hosts) {
    text += (text.empty() ? "" : ", ") + host + (count > 1 ? str(" (", count, ")") : "");
  }
  return text;
}

}  // namespace

ElasticWorld::ElasticWorld(const ElasticBounds& bounds) : standing_(standing_of(bounds)), door_(standing_) {}

ElasticWorld::~ElasticWorld() = default;

std::unique_ptr<Communicator> ElasticWorld::meet(int64_t progress) {
  door_.stop();
  const std::optional<Admission> next = return_or_arrive(progress);
  if (!next) return nullptr;
  take_over(*next);
  sockets::Company company;
  company.rank = next->rank;
  company.members = next->offices;
  company.token = next->token;
  company.listener = std::move(office_listener_);
  office_ = std::make_shared<sockets::PostOffice>(std::move(company), sockets::PostOffice::Loss::kEndsTheGeneration);
  office_->break_off_at(sockets::Clock::now() + kEstablishedWithin);
  keep_door();
  sockets::Circle circle;
  circle.office = office_;
  circle.ranks.resize(next->members.size());
  std::iota(circle.ranks.begin(), circle.ranks.end(), 0);
  circle.rank = next->rank;
  circle.conversation = 2;
  return std::make_unique<sockets::SocketCommunicator>(std::move(circle));
}

std::optional<Admission> ElasticWorld::return_or_arrive(int64_t progress) {
  if (!last_) return arrive({});
  elastic::Blame blame;
  {
    const std::lock_guard lock(blaming_);
    blame = blame_;
  }
  const std::function<std::vector<int>()> open_door = [this] { return door_.open(); };
  elastic::Reunion reunion(standing_, *last_, blame, door_.gathering(), calls_.get(), open_door, {});
  elastic::ReunionEnd end = reunion.run(progress);
  if (end.admission) {
    is_new_ = false;
    return std::move(end.admission);
  }
  led_ = end.led;
  if (end.job_code) {
    if (*end.job_code == static_cast<int>(ErrorKind::kCommunication)) {
      throw Error(ErrorKind::kCommunication, end.why, "start more ranks, or give a smaller -elastic MIN");
    }
    code_ = *end.job_code;
    return {};
  }
  LOG_WARNING << "Elastic: " << end.why << "; this rank asks to be let in again";
  return arrive(end.place.port != 0 ? std::optional<Member>(end.place) : std::nullopt);
}

std::optional<Admission> ElasticWorld::arrive(const std::optional<Member>& place) {
  door_.close();
  last_.reset();
  is_new_ = true;
  elastic::Arrival arrival(standing_, calls_, office_listener_, known_);
  if (place) arrival.look_first_at(*place);
  elastic::ArrivalEnd end = arrival.run();
  if (end.admission) return std::move(end.admission);
  code_ = end.job_code;
  return {};
}

void ElasticWorld::take_over(const Admission& next) {
  standing_.job = next.job;
  standing_.batch = next.batch;
  tell(next);
  standing_.generation = next.generation;
  standing_.ledger.take_over(next.losses, elastic::steady_seconds());
  known_.clear();
  for (const Member& member : next.members) {
    if (std::ranges::find(known_, member.address) == known_.end()) known_.push_back(member.address);
  }
  const std::lock_guard lock(blaming_);
  blame_ = {};
  last_ = next;
}

/// What is new, in the words of a log.
void ElasticWorld::tell(const Admission& next) {
  story_.clear();
  first_new_ = static_cast<int>(next.members.size());
  if (!last_) {
    if (next.generation == 1) first_new_ = 0;
    return;
  }
  std::vector<Member> joined;
  for (size_t rank = 0; rank < next.members.size(); ++rank) {
    if (is_in(last_->members, next.members[rank])) continue;
    if (joined.empty()) first_new_ = static_cast<int>(rank);
    joined.push_back(next.members[rank]);
  }
  const std::lock_guard lock(blaming_);
  for (size_t rank = 0; rank < last_->members.size(); ++rank) {
    const Member& member = last_->members[rank];
    if (is_in(next.members, member)) continue;
    const bool told = blame_.rank == static_cast<int>(rank) && !blame_.line.empty();
    const bool waits = std::ranges::any_of(door_.gathering().callers(), [&](const elastic::Gathering::Caller& caller) {
      return elastic::same_place(caller.call.self, member);
    });
    const char* const what = waits ? " stands by" : " is no longer among the ranks";
    story_.push_back(told ? blame_.line : str("rank ", rank, " on ", member.host, what));
  }
  for (const elastic::Loss& loss : next.losses) {
    if (loss.kept_out != 0 && !standing_.ledger.keeps_out(loss.host)) {
      story_.push_back(
          str(loss.host, " was lost ", elastic::Ledger::kMostLosses, " times: it is kept out from now on"));
    }
  }
  if (!joined.empty()) {
    story_.push_back(
        str(joined.size(), joined.size() == 1 ? " rank has" : " ranks have", " joined: ", hosts_of(joined)));
  }
}

/// The first rank's, and that of the first member where new ones look, when they are two.
void ElasticWorld::keep_door() {
  const std::vector<Member>& members = last_->members;
  const Member& self = standing_.self;
  if (last_->rank == 0) return door_.start({});
  elastic::Address meeting_at = 0;
  try {
    meeting_at = sockets::resolve(standing_.meeting_host);
  } catch (const Error&) {
    // Nobody looks there then.
  }
  const auto first_there = std::ranges::find(members, meeting_at, &Member::address);
  const bool is_mine = first_there != members.end() && elastic::same_place(*first_there, self);
  door_.close();
  if (!is_mine || members[0].address == meeting_at) return;
  Member first = members[0];
  first.port = standing_.meeting_port;
  door_.start(first);
}

void ElasticWorld::established() { office_->break_off_at(sockets::Clock::time_point::max()); }

void ElasticWorld::break_off(const elastic::Blame& blame) {
  std::shared_ptr<sockets::PostOffice> office;
  {
    const std::lock_guard lock(blaming_);
    if (blame_.rank < 0) blame_ = blame;
    office = office_;
  }
  if (office) office->break_off(blame.line);
}

void ElasticWorld::part() {
  if (!office_) return;
  ended_ = sockets::Clock::now();
  std::shared_ptr<sockets::PostOffice> office;
  {
    const std::lock_guard lock(blaming_);
    office = std::move(office_);
    office_ = nullptr;
  }
  office_listener_ = office->take_listener();
}

void ElasticWorld::end(int code, const std::string& how) {
  door_.stop();
  door_.gathering().dismiss(elastic::job_is_over(code, how), [](const auto&) { return true; });
  door_.close();
}

double ElasticWorld::seconds_since_end() const {
  return ended_ ? std::chrono::duration<double>(sockets::Clock::now() - *ended_).count() : 0;
}

bool ElasticWorld::somebody_waits() const {
  if (!last_ || last_->rank != 0) return false;
  const int ranks = static_cast<int>(last_->members.size());
  return seats(ranks + door_.waiting(), standing_.bounds, standing_.batch) > ranks;
}

}  // namespace robusta
