// One round: each rank introduces itself, and keeps its connection until rank 0 has an answer for all. Of a caller that
// is nobody yet rank 0 reads no more than an introduction, and waits for that no longer than kIntroducedWithin.

#include "comm/sockets/meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/counted.h"
#include "base/log.h"
#include "base/str.h"
#include "comm/host_name.h"
#include "comm/liveness/messages.h"
#include "robusta/error.h"

namespace robusta::sockets {
namespace {

constexpr uint32_t kMagic = 0x52424d54;  // of this version of the introduction
constexpr size_t kGuests = 256;          // callers at a time that have not introduced themselves
constexpr std::chrono::seconds kIntroducedWithin{10};
constexpr std::chrono::milliseconds kBetweenCalls{100};
constexpr std::chrono::seconds kBetweenQuestions{1};  // about a name
constexpr std::chrono::seconds kOneAddress{5};        // an address is called so long before its name is asked for anew

struct Introduction {
  uint32_t magic = kMagic;
  int32_t rank = 0, ranks = 0;
  char secret[128] = {};
  Member self;
};

struct Answer {
  uint32_t magic = kMagic;
  int32_t refused = 0;  ///< 1: `text` says why, and no list follows
  Token token{};
  char text[512] = {};
};

struct Guest {
  Descriptor socket;
  Clock::time_point since;
  Introduction introduction{};
  size_t received = 0;
};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Error failed(const std::string& why, const std::string& fix) { return Error(ErrorKind::kCommunication, why, fix); }

std::string place_of(const Meeting& meeting) { return str(meeting.host, ":", meeting.port); }

/// Takes as long for a wrong guess as for a right one.
bool same_secret(const char (&a)[128], const char (&b)[128]) {
  int differing = 0;
  for (size_t i = 0; i < sizeof a; ++i) differing |= a[i] ^ b[i];
  return differing == 0;
}

Introduction introduction_of(const Meeting& meeting) {
  Introduction mine;
  mine.rank = meeting.rank;
  mine.ranks = meeting.ranks;
  liveness::copy_text(mine.secret, meeting.secret);
  liveness::copy_text(mine.self.host, host_name());
  return mine;
}

/// Rank 0's side.
class Reception {
 public:
  explicit Reception(const Meeting& meeting) : meeting_(meeting), expected_(introduction_of(meeting)) {
    const Address address = resolve_before(meeting.host, after(meeting.seconds));
    uint16_t port = meeting.port;
    listener_ = listen_at(address, port);
    if (!listener_.is_open()) {
      const std::string why = str("rank 0 cannot listen at ", place_of(meeting), ": ", strerror(errno));
      throw failed(why, errno == EADDRNOTAVAIL ? "MASTER_ADDR has to be an address of the host of rank 0"
                                               : "choose another port (MASTER_PORT, or ROBUSTA_PORT)");
    }
    callers_.resize(static_cast<size_t>(meeting.ranks));
    members_.resize(callers_.size());
    liveness::copy_text(members_[0].host, host_name());
    members_[0].address = address;
  }

  Company receive_all_ranks() {
    const auto deadline = after(meeting_.seconds);
    while (!missing().empty() && Clock::now() < deadline) serve();
    const std::vector<int> absent = missing();
    if (!absent.empty()) {
      refuse_all(str(some_of(absent), " of ", meeting_.ranks, " did not come to ", place_of(meeting_), " within ",
                     meeting_.seconds, " s"));
    }
    return admit_all();
  }

 private:
  /// One look at the sockets.
  void serve() {
    std::vector<pollfd> polled;
    if (guests_.size() < kGuests) polled.push_back({listener_.get(), POLLIN, 0});  // the others wait in the system
    for (const Guest& guest : guests_) polled.push_back({guest.socket.get(), POLLIN, 0});
    poll(polled.data(), polled.size(), static_cast<int>(kBetweenCalls.count()));
    std::erase_if(guests_, [this](Guest& guest) { return !stays(guest); });
    while (guests_.size() < kGuests) {
      Descriptor caller = accept_from(listener_.get());
      if (!caller.is_open()) return;
      guests_.push_back({std::move(caller), Clock::now()});
    }
  }

  /// Whether a guest has still to introduce itself.
  bool stays(Guest& guest) {
    auto* const bytes = reinterpret_cast<char*>(&guest.introduction) + guest.received;
    const ssize_t got = recv(guest.socket.get(), bytes, sizeof guest.introduction - guest.received, 0);
    if (got == 0 || (got < 0 && !is_for_later(errno))) return false;
    if (got > 0) guest.received += static_cast<size_t>(got);
    if (guest.received < sizeof guest.introduction) return Clock::now() - guest.since < kIntroducedWithin;
    take(guest);
    return false;
  }

  void take(Guest& guest) {
    Introduction& its = guest.introduction;
    if (its.magic != kMagic || !same_secret(its.secret, expected_.secret)) return;
    its.self.host[sizeof its.self.host - 1] = 0;
    Descriptor caller = std::move(guest.socket);
    if (its.ranks != meeting_.ranks) {
      refuse_all(str("rank ", its.rank, " on ", its.self.host, " is one of ", its.ranks, " ranks, and rank 0 of ",
                     meeting_.ranks),
                 &caller);
    }
    if (its.rank <= 0 || its.rank >= meeting_.ranks) {
      refuse_all(str("there is no rank ", its.rank, " (", its.self.host, ")"), &caller);
    }
    const auto at = static_cast<size_t>(its.rank);
    if (callers_[at].is_open()) {
      refuse_all(
          str("two processes say that they are rank ", its.rank, ", on ", members_[at].host, " and on ", its.self.host),
          &caller);
    }
    callers_[at] = std::move(caller);
    members_[at] = its.self;
  }

  std::vector<int> missing() const {
    std::vector<int> absent;
    for (size_t rank = 1; rank < callers_.size(); ++rank) {
      if (!callers_[rank].is_open()) absent.push_back(static_cast<int>(rank));
    }
    return absent;
  }

  /// Those that have come, and the last one that called.
  [[noreturn]] void refuse_all(const std::string& why, const Descriptor* last = nullptr) {
    Answer answer;
    answer.refused = 1;
    liveness::copy_text(answer.text, why);
    const auto tell = [&](const Descriptor& caller) {
      if (caller.is_open()) send_all(caller.get(), &answer, sizeof answer, after(1));
    };
    for (const Descriptor& caller : callers_) tell(caller);
    if (last) tell(*last);
    throw failed(why,
                 "start all ranks of the job, each with its own number (RANK) and the same WORLD_SIZE, MASTER_ADDR, "
                 "MASTER_PORT and ROBUSTA_TOKEN; ROBUSTA_MEETING_SECONDS is how long they wait for each other");
  }

  Company admit_all() {
    Company company;
    uint16_t port = 0;
    company.listener = listen_at(members_[0].address, port);
    if (!company.listener.is_open()) refuse_all(str("rank 0 cannot listen: ", strerror(errno)));
    members_[0].port = port;
    company.token = liveness::draw_token();
    Answer answer;
    answer.token = company.token;
    for (size_t rank = 1; rank < callers_.size(); ++rank) {
      const int socket = callers_[rank].get();
      int error = send_all(socket, &answer, sizeof answer, after(10));
      if (!error) error = send_all(socket, members_.data(), members_.size() * sizeof(Member), after(10));
      if (error) {
        throw failed(
            str("rank ", rank, " on ", members_[rank].host, " went away while the ranks met: ", strerror(error)),
            "look at that rank's log");
      }
    }
    company.members = std::move(members_);
    return company;
  }

  const Meeting& meeting_;
  Introduction expected_;
  Descriptor listener_;
  std::vector<Guest> guests_;
  std::vector<Descriptor> callers_;  ///< by rank; not open: it has not come
  std::vector<Member> members_;
};

/// Until somebody listens there. Not open: `error` says why not.
Descriptor call(Address address, uint16_t port, Clock::time_point deadline, int& error) {
  error = ETIMEDOUT;
  do {
    Descriptor caller = begin_connect(address, port);
    if (caller.is_open() && await(caller.get(), POLLOUT, deadline)) {
      error = connect_error(caller.get());
      if (error == 0) return caller;
    }
    std::this_thread::sleep_for(kBetweenCalls);
  } while (Clock::now() < deadline);
  return Descriptor();
}

/// Until rank 0 listens: it may start last, and where it was started again its name may stand for another address.
Descriptor call_first(const Meeting& meeting, Clock::time_point deadline) {
  int error = ETIMEDOUT;
  do {
    const Address address = resolve_before(meeting.host, deadline);
    Descriptor caller = call(address, meeting.port, std::min(deadline, Clock::now() + kOneAddress), error);
    if (caller.is_open()) return caller;
  } while (Clock::now() < deadline);
  throw failed(str("rank ", meeting.rank, " does not reach rank 0 at ", place_of(meeting), " within ", meeting.seconds,
                   " s: ", strerror(error)),
               "look whether rank 0 runs there, and whether a firewall is between the hosts");
}

Company join_first(const Meeting& meeting) {
  // Rank 0 gives up by itself, and says why.
  const auto deadline = after(meeting.seconds), last = deadline + kIntroducedWithin;
  const Descriptor caller = call_first(meeting, deadline);
  Company company;
  company.rank = meeting.rank;
  Introduction mine = introduction_of(meeting);
  mine.self.address = own_address(caller.get());
  uint16_t port = 0;
  company.listener = listen_at(mine.self.address, port);
  if (!company.listener.is_open()) throw failed(str("rank ", meeting.rank, " cannot listen: ", strerror(errno)), "");
  mine.self.port = port;
  Answer answer;
  int error = send_all(caller.get(), &mine, sizeof mine, last);
  if (!error) error = receive_all(caller.get(), &answer, sizeof answer, last);
  if (!error && answer.magic == kMagic && answer.refused) {
    answer.text[sizeof answer.text - 1] = 0;
    throw failed(answer.text, "rank 0's log says more");
  }
  company.members.resize(static_cast<size_t>(meeting.ranks));
  if (!error) error = receive_all(caller.get(), company.members.data(), company.members.size() * sizeof(Member), last);
  if (error || answer.magic != kMagic) {
    throw failed(str("rank 0 at ", place_of(meeting), " gives rank ", meeting.rank, " no answer",
                     error ? str(": ", strerror(error)) : ""),
                 "all ranks need the same ROBUSTA_TOKEN and the same version of this program");
  }
  company.token = answer.token;
  return company;
}

}  // namespace

Address resolve_before(const std::string& host, Clock::time_point deadline) {
  for (bool told = false;; told = true) {
    try {
      return resolve(host);
    } catch (const Error& error) {
      if (Clock::now() >= deadline) throw;
      if (!told) LOG_WARNING << "Waiting for rank 0's address: " << error.what();
    }
    std::this_thread::sleep_until(std::min(Clock::now() + kBetweenQuestions, deadline));
  }
}

std::string some_of(const std::vector<int>& ranks) {
  constexpr size_t kMost = 8;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < std::min(ranks.size(), kMost); ++i) text += str(i == 0 ? " " : ", ", ranks[i]);
  if (ranks.size() > kMost) text += str(" and ", counted(static_cast<int>(ranks.size() - kMost), "other"));
  return text;
}

Company meet(const Meeting& meeting) {
  if (meeting.secret.size() >= sizeof(Introduction::secret)) {
    throw failed("ROBUSTA_TOKEN has more than 127 characters", "openssl rand -hex 16 makes one");
  }
  if (meeting.rank > 0) return join_first(meeting);
  return Reception(meeting).receive_all_ranks();
}

}  // namespace robusta::sockets
