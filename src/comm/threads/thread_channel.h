/// Transfers between ranks that are threads. The receiver copies, whenever it waits for anything.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/threads/group.h"

namespace robusta {

class ThreadChannel : public Channel {
 public:
  ThreadChannel(std::shared_ptr<ThreadGroup> group, int rank, int slots);
  ~ThreadChannel() override;
  void send(int slot, const void* data, size_t bytes, int to) override;
  void receive(int slot, void* data, size_t bytes, int from) override;
  void wait(int slot) override;

 private:
  struct Slot {
    enum Kind { kIdle, kSend, kReceive } kind = kIdle;
    Mail mail;
    void* into = nullptr;
    size_t bytes = 0;
    int peer = -1;
    uint64_t order = 0;  ///< of this channel's transfers
  };
  bool done(const Slot& slot) const { return slot.kind == Slot::kIdle || slot.mail.state == Mail::kTaken; }
  /// The oldest receive whose message has come, or null.
  Slot* ready();
  /// Takes what has come. `lock` may be released meanwhile.
  void progress(std::unique_lock<std::mutex>& lock);
  /// Gives up all transfers.
  void withdraw(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  std::vector<Slot> slots_;
  uint64_t started_ = 0;
};

}  // namespace robusta
