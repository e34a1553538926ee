// A handler may only touch lock-free atomics and call what is async-signal-safe (C++20, [support.signal]; POSIX.1-2017,
// 2.4.3): it sets flags. Any thread may run it, while the main thread looks at them.
#include "solver/loop/signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstring>

#include "base/log.h"
#include "base/nearest.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr std::array kSignals = {SIGINT, SIGHUP, SIGTERM, SIGUSR1};
constexpr int kKilledBySigint = 128 + SIGINT;  // what a shell makes of a death by it

// Only these are touched in a handler.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> g_snapshot = 0;
std::atomic<int> g_stop = 0;
std::atomic<int> g_last_signal = 0;
std::atomic<int> g_has_begun = 0;
std::atomic<int> g_effects[kSignals.size()];

struct sigaction g_before[kSignals.size()];

/// As if there were no handler, once this one has returned.
void leave(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

void handle(int signal) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    const auto effect = static_cast<Request>(g_effects[i].load());
    if (effect == Request::kNone) return;
    if (effect == Request::kSnapshot) g_snapshot = 1;
    if (effect == Request::kStop) {
      if (!g_has_begun && signal != SIGUSR1) return leave(signal);
      if (signal == SIGINT && g_stop) _exit(kKilledBySigint);
      g_stop = 1;
    }
    g_last_signal = signal;
  }
}

}  // namespace

Request parse_effect(const std::string& flag, const std::string& value) {
  if (value == "stop") return Request::kStop;
  if (value == "snapshot") return Request::kSnapshot;
  if (value == "none") return Request::kNone;
  throw Error(ErrorKind::kUsage, "-" + flag + " \"" + value + "\"" + did_you_mean(value, {"stop", "snapshot", "none"}),
              "known: stop, snapshot, none");
}

SignalWatch::SignalWatch(Request sigint, Request sighup) {
  g_snapshot = 0;
  g_stop = 0;
  g_last_signal = 0;
  g_has_begun = 0;
  const std::array effects = {sigint, sighup, Request::kStop, Request::kStop};
  for (size_t i = 0; i < kSignals.size(); ++i) {
    g_effects[i] = static_cast<int>(effects[i]);
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    [[maybe_unused]] const int failed = sigaction(kSignals[i], &action, &g_before[i]);
    assert(!failed);
  }
}

SignalWatch::~SignalWatch() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_before[i], nullptr);
}

void SignalWatch::training_begins() { g_has_begun = 1; }

Request SignalWatch::poll() {
  const Request request = g_stop ? Request::kStop : g_snapshot ? Request::kSnapshot : Request::kNone;
  g_snapshot = 0;
  if (const int signal = g_last_signal.exchange(0)) {
    LOG_INFO << "Got " << strsignal(signal) << ": "
             << (request == Request::kStop ? "snapshot and stop" : "snapshot after this iteration");
  }
  return request;
}

}  // namespace robusta
