/// A barrier for ranks of one host, and short messages beside it: for each rank a counter in shared memory.
///
/// What ranks wrote before the barrier is visible to all behind it. Each counter has a cache line of its own and is
/// written by its rank alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/reduce/stage.h"

namespace robusta {

class SharedBarrier {
 public:
  /// `memory` has kBytes and reaches the group. `crowded`: there are more ranks than cores, so whoever spins keeps the
  /// awaited one from running.
  SharedBarrier(Communicator& world, const Group& group, std::shared_ptr<SharedMemory> memory, bool crowded);

  /// Returns when all members have called it as often as this one.
  void wait();

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

  std::byte* part(int member) const { return parts_[static_cast<size_t>(member)]; }

  Communicator& world_;
  std::shared_ptr<SharedMemory> memory_;
  std::vector<std::byte*> parts_;  ///< of each member: its counter, then its messages
  int position_, spins_;
  uint64_t arrivals_ = 0;  ///< of this rank so far: each barrier waits until all have as many
};

}  // namespace robusta
