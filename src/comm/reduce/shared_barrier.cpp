// Each rank increments a counter of its own and waits for those of all others, so that no cache line is written by two
// ranks (Mellor-Crummey and Scott 1991).

#include "comm/reduce/shared_barrier.h"

#include "comm/patience.h"

namespace robusta {

SharedBarrier::SharedBarrier(Communicator& world, const Group& group, std::shared_ptr<SharedMemory> memory,
                             bool crowded)
    : world_(world), memory_(std::move(memory)), position_(group.position), spins_(crowded ? 0 : 2000) {
  for (const int rank : group.ranks) parts_.push_back(static_cast<std::byte*>(memory_->peer(rank)));
}

void SharedBarrier::wait() {
  reinterpret_cast<Counter*>(part(position_))->arrivals.store(++arrivals_, std::memory_order_release);
  for (const std::byte* member : parts_) {
    const auto& arrivals = reinterpret_cast<const Counter*>(member)->arrivals;
    for (Patience patience(spins_); arrivals.load(std::memory_order_acquire) < arrivals_; patience.pause()) {
      world_.check_peers();
    }
  }
}

std::byte* SharedBarrier::message(int member, int turn) const {
  return part(member) + (kBytes - 2 * kShort) + static_cast<size_t>(turn) * kShort;
}

}  // namespace robusta
