/// Where new ranks call while training runs: a thread of the first rank that does little.
///
/// It listens at the meeting port of its own address (where that is taken, at another), tells those who call to wait,
/// and the driver how many do. Where new ones look first is another host, it goes there now and then and summons
/// whoever listens there: a process that was started again as rank 0 would otherwise found a second job. A member on
/// that host keeps a door, too, which sends callers on to the first rank.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "comm/elastic/gathering.h"
#include "comm/elastic/outgoing_call.h"
#include "comm/elastic/standing.h"

namespace robusta::elastic {

class Door {
 public:
  explicit Door(const Standing& standing) : standing_(standing), gathering_(standing.secret) {}
  ~Door() { stop(); }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// Listens if it does not yet, and returns where. REQUIRES: the thread does not run.
  std::vector<int> open();
  void close();
  /// Those who wait. REQUIRES: the thread does not run.
  Gathering& gathering() { return gathering_; }

  /// The thread begins. `first`: where the first rank listens for new ones, when that is another process.
  void start(const std::optional<Member>& first);
  /// The thread has ended; who waits goes on waiting.
  void stop();

  /// How many wait, once no more have come for a moment.
  int waiting() const { return waiting_; }

 private:
  void serve(const std::optional<Member>& first);
  std::optional<Answer> judge(const Call& call, const std::optional<Member>& first) const;
  void count();
  void summon();

  const Standing& standing_;
  Gathering gathering_;
  Descriptor usual_, other_;  ///< at the meeting port; at another one, where that was taken
  uint16_t port_ = 0;         ///< of the best of them
  std::thread thread_;
  std::atomic<bool> stops_{false};
  std::atomic<int> waiting_{0};
  // The thread's own:
  size_t seen_ = 0;
  Clock::time_point changed_;
  std::optional<OutgoingCall> summons_;
  Clock::time_point summoned_;
};

}  // namespace robusta::elastic
