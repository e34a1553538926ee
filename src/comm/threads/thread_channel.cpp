// A rendezvous: the message stays with its sender until the receiver copies it.

#include "comm/threads/thread_channel.h"

#include <cassert>

#include "comm/arrivals.h"

namespace robusta {

ThreadChannel::ThreadChannel(std::shared_ptr<ThreadGroup> group, int rank, int slots)
    : group_(std::move(group)), rank_(rank), slots_(static_cast<size_t>(slots)) {}

ThreadChannel::~ThreadChannel() {
  std::unique_lock lock(group_->job().mutex);
  withdraw(lock);
}

void ThreadChannel::withdraw(std::unique_lock<std::mutex>& lock) {
  for (Slot& slot : slots_) {
    if (slot.kind == Slot::kSend) group_->withdraw(lock, slot.mail, rank_, slot.peer);
    slot.kind = Slot::kIdle;
  }
}

void ThreadChannel::send(int slot, const void* data, size_t bytes, int to) {
  Slot& mine = slots_.at(static_cast<size_t>(slot));
  assert(mine.kind == Slot::kIdle);
  const std::lock_guard lock(group_->job().mutex);
  mine.kind = Slot::kSend, mine.peer = to, mine.order = started_++;
  mine.mail.data = data, mine.mail.bytes = bytes;
  group_->post(mine.mail, rank_, to);
}

void ThreadChannel::receive(int slot, void* data, size_t bytes, int from) {
  Slot& mine = slots_.at(static_cast<size_t>(slot));
  assert(mine.kind == Slot::kIdle);
  const std::lock_guard lock(group_->job().mutex);
  mine.kind = Slot::kReceive, mine.peer = from, mine.order = started_++;
  mine.into = data, mine.bytes = bytes;
}

ThreadChannel::Slot* ThreadChannel::ready() {
  Slot* oldest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.kind != Slot::kReceive || !group_->peek(slot.peer, rank_)) continue;
    if (!oldest || slot.order < oldest->order) oldest = &slot;
  }
  return oldest;
}

void ThreadChannel::progress(std::unique_lock<std::mutex>& lock) {
  while (Slot* slot = ready()) {
    group_->take(lock, slot->peer, rank_, slot->into, slot->bytes);
    slot->kind = Slot::kIdle;
    arrivals().fetch_add(1, std::memory_order_relaxed);
  }
}

void ThreadChannel::wait(int slot) {
  Slot& mine = slots_.at(static_cast<size_t>(slot));
  std::unique_lock lock(group_->job().mutex);
  for (progress(lock); !done(mine); progress(lock)) {
    if (group_->job().wait(lock, [&] { return done(mine) || ready(); })) continue;
    withdraw(lock);  // the caller's memory may go now
    group_->job().throw_failed();
  }
  mine.kind = Slot::kIdle, mine.mail.state = Mail::kNone;
}

}  // namespace robusta
