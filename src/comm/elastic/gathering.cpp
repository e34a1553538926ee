// Sockets never block here: a caller that does not read is dropped rather than waited for.

#include "comm/elastic/gathering.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "comm/liveness/messages.h"

namespace robusta::elastic {
namespace {

constexpr size_t kGuests = 256;  // callers at a time that have not said who they are
constexpr std::chrono::seconds kIntroducedWithin{10};
constexpr std::chrono::seconds kBetweenWords{3};

/// Of one that waits: false when it has hung up, or says what nobody asked for.
bool hear(Gathering::Caller& caller) {
  for (char said = 0;;) {
    const ssize_t got = recv(caller.socket.get(), &said, 1, 0);
    if (got < 0) return sockets::is_for_later(errno);
    if (got == 0 || said != kYes) return false;
    caller.confirmed = true;
  }
}

}  // namespace

bool tell(const Gathering::Caller& caller, const Answer& answer) {
  return send(caller.socket.get(), &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof answer);
}

Answer elsewhere(const Member& place) {
  Answer answer;
  answer.word = Word::kElsewhere;
  answer.address = place.address;
  answer.port = place.port;
  return answer;
}

Answer refusal(const std::string& why) {
  Answer answer;
  answer.word = Word::kRefused;
  liveness::copy_text(answer.text, why);
  return answer;
}

Answer job_is_over(int code, const std::string& how) {
  Answer answer = refusal(how);
  answer.word = Word::kOver;
  answer.code = code;
  return answer;
}

Gathering::Gathering(const std::string& secret) { liveness::copy_text(secret_, secret); }

void Gathering::serve(std::span<const int> listeners, std::chrono::milliseconds most, const Judge& judge) {
  std::vector<pollfd> polled;
  if (guests_.size() < kGuests) {
    for (const int listener : listeners) polled.push_back({listener, POLLIN, 0});
  }
  for (const Guest& guest : guests_) polled.push_back({guest.socket.get(), POLLIN, 0});
  for (const Caller& caller : callers_) polled.push_back({caller.socket.get(), POLLIN, 0});
  poll(polled.data(), polled.size(), static_cast<int>(most.count()));
  std::erase_if(guests_, [&](Guest& guest) { return !stays(guest, judge); });
  std::erase_if(callers_, [](Caller& caller) { return !hear(caller); });
  for (const int listener : listeners) accept_all(listener);
  tell_who_waits();
}

void Gathering::accept_all(int listener) {
  while (guests_.size() < kGuests) {
    Descriptor caller = sockets::accept_from(listener);
    if (!caller.is_open()) return;
    guests_.push_back({std::move(caller), Clock::now()});
  }
}

bool Gathering::stays(Guest& guest, const Judge& judge) {
  auto* const bytes = reinterpret_cast<char*>(&guest.call) + guest.received;
  const ssize_t got = recv(guest.socket.get(), bytes, sizeof guest.call - guest.received, 0);
  if (got == 0 || (got < 0 && !sockets::is_for_later(errno))) return false;
  if (got > 0) guest.received += static_cast<size_t>(got);
  if (guest.received < sizeof guest.call) return Clock::now() - guest.since < kIntroducedWithin;
  take(guest, judge);
  return false;
}

void Gathering::take(Guest& guest, const Judge& judge) {
  Call& call = guest.call;
  if (call.magic != kMagic || !same_secret(call.secret, secret_)) return;
  call.self.host[sizeof call.self.host - 1] = 0;
  Caller caller{std::move(guest.socket), call};
  if (const std::optional<Answer> last = judge(call)) {
    tell(caller, *last);
    return;
  }
  // Who calls again has given up its older call.
  std::erase_if(callers_, [&](const Caller& older) { return same_place(older.call.self, call.self); });
  if (tell(caller, Answer{})) callers_.push_back(std::move(caller));
}

void Gathering::tell_who_waits() {
  if (Clock::now() - told_ < kBetweenWords) return;
  told_ = Clock::now();
  std::erase_if(callers_, [](const Caller& caller) { return !tell(caller, Answer{}); });
}

void Gathering::dismiss(const Answer& word, const std::function<bool(const Caller&)>& which) {
  std::erase_if(callers_, [&](const Caller& caller) { return which(caller) && (tell(caller, word), true); });
}

}  // namespace robusta::elastic
