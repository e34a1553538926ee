/// Where ranks of one host meet: a counter for each in shared memory, and short messages beside them.
///
/// A rank that has come waits until all have; what they wrote before is then visible to all. Each counter has a cache
/// line of its own and is written by its rank alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/reduce/stage.h"

namespace robusta {

class Meeting {
 public:
  /// `memory` has kBytes and reaches the group. `crowded`: there are more ranks than cores, so whoever spins keeps the
  /// awaited one from running.
  Meeting(Communicator& world, const Group& group, std::shared_ptr<SharedMemory> memory, bool crowded);

  void arrive();
  void wait_for(int member);
  void meet();

  /// Bytes of a short message.
  static constexpr size_t kShort = size_t{64} << 10;
  static constexpr size_t kBytes = 4096 + 2 * kShort;
  /// Two places for the short message of a member, to be used in turn: one is still read while the other is written.
  std::byte* message(int member, int turn) const;

 private:
  struct alignas(64) Counter {
    std::atomic<uint64_t> arrivals;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "counters are shared between processes");

  Communicator& world_;
  std::shared_ptr<SharedMemory> memory_;
  std::vector<std::byte*> parts_;  ///< of each member: its counter, then its messages
  int position_, spins_;
  uint64_t arrivals_ = 0;
};

}  // namespace robusta
