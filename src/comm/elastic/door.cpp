// Ranks of a host that is started arrive one after the other: the driver is told of them when the last has come, so
// that they come in together.

#include "comm/elastic/door.h"

#include <pthread.h>
#include <signal.h>

#include "base/str.h"
#include "base/thread_name.h"
#include "comm/liveness/messages.h"
#include "robusta/error.h"

namespace robusta::elastic {
namespace {

constexpr std::chrono::milliseconds kDoorLook{200};
constexpr std::chrono::seconds kAllHaveCome{1};
constexpr std::chrono::seconds kBetweenSummons{2};

}  // namespace

/// A founder on this host may have the port: it will be summoned to another one, and goes.
std::vector<int> Door::open() {
  if (!usual_.is_open()) {
    uint16_t port = standing_.meeting_port;
    usual_ = sockets::listen_at(standing_.self.address, port);
    if (usual_.is_open()) port_ = port;
  }
  if (!usual_.is_open() && !other_.is_open()) {
    uint16_t port = 0;
    other_ = sockets::listen_at(standing_.self.address, port);
    port_ = port;
  }
  std::vector<int> listeners;
  for (const Descriptor* listener : {&usual_, &other_}) {
    if (listener->is_open()) listeners.push_back(listener->get());
  }
  return listeners;
}

void Door::close() {
  stop();
  usual_ = Descriptor();
  other_ = Descriptor();
  gathering_ = Gathering(standing_.secret);
  waiting_ = 0;
}

/// Signals are the business of the other threads.
void Door::start(const std::optional<Member>& first) {
  stops_ = false;
  waiting_ = 0;
  seen_ = gathering_.callers().size();
  changed_ = Clock::now();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, first] {
    name_this_thread("door");
    serve(first);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Door::stop() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
  summons_.reset();
}

std::optional<Answer> Door::judge(const Call& call, const std::optional<Member>& first) const {
  if (call.errand == Errand::kSummon) return Answer{};
  if (call.errand == Errand::kReturn) return refusal("the generation of this rank is over");
  if (first) return elsewhere(*first);
  if (!standing_.ledger.keeps_out(call.self.host)) return {};
  return refusal(str(call.self.host, " was lost ", Ledger::kMostLosses, " times and is kept out of this job"));
}

void Door::serve(const std::optional<Member>& first) {
  while (!stops_) {
    gathering_.serve(open(), kDoorLook, [&](const Call& call) { return judge(call, first); });
    count();
    if (!first) summon();
  }
}

void Door::count() {
  const size_t now = gathering_.callers().size();
  if (now != seen_) changed_ = Clock::now();
  seen_ = now;
  if (Clock::now() - changed_ > kAllHaveCome) waiting_ = static_cast<int>(now);
}

/// Says where this door is to whoever listens where new ones look first.
void Door::summon() {
  if (summons_) {
    const OutgoingCall::State state = summons_->step();
    if (state != OutgoingCall::State::kCalling || summons_->quiet() > 2) summons_.reset();
    return;
  }
  if (Clock::now() - summoned_ < kBetweenSummons || port_ == 0) return;
  summoned_ = Clock::now();
  Call call;
  call.errand = Errand::kSummon;
  liveness::copy_text(call.secret, standing_.secret);
  call.self = standing_.self;
  call.self.port = port_;
  try {
    const Address there = sockets::resolve(standing_.meeting_host);
    const bool is_here = there == standing_.self.address && port_ == standing_.meeting_port;
    if (!is_here) summons_.emplace(there, standing_.meeting_port, call);
  } catch (const Error&) {
    // The name of a host that is gone may be unknown for a while.
  }
}

}  // namespace robusta::elastic
