// A barrier in shared memory: each rank raises a counter of its own and waits for those of all others, so that no cache
// line is written by two ranks (Mellor-Crummey and Scott 1991).

#include "comm/reduce/meeting.h"

#include "comm/patience.h"

namespace robusta {

Meeting::Meeting(Communicator& world, const Group& group, std::shared_ptr<SharedMemory> memory, bool crowded)
    : world_(world), memory_(std::move(memory)), position_(group.position), spins_(crowded ? 0 : 2000) {
  for (const int rank : group.ranks) parts_.push_back(static_cast<std::byte*>(memory_->peer(rank)));
}

void Meeting::arrive() {
  reinterpret_cast<Counter*>(parts_[static_cast<size_t>(position_)])
      ->arrivals.store(++arrivals_, std::memory_order_release);
}

void Meeting::wait_for(int member) {
  const auto& arrivals = reinterpret_cast<const Counter*>(parts_[static_cast<size_t>(member)])->arrivals;
  for (Patience patience(spins_); arrivals.load(std::memory_order_acquire) < arrivals_; patience.pause()) {
    world_.check_peers();
  }
}

void Meeting::meet() {
  arrive();
  for (int member = 0; member < static_cast<int>(parts_.size()); ++member) wait_for(member);
}

std::byte* Meeting::message(int member, int turn) const {
  return parts_[static_cast<size_t>(member)] + (kBytes - 2 * kShort) + static_cast<size_t>(turn) * kShort;
}

}  // namespace robusta
