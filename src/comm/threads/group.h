/// The ranks of one communicator of the kind `threads`: its barrier, board and mail.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "comm/threads/job.h"

namespace robusta {

/// A message under way; it lies with its sender, who must not go before it is taken or withdrawn.
struct Mail {
  enum State { kNone, kPosted, kCopying, kTaken };
  const void* data = nullptr;
  size_t bytes = 0;
  State state = kNone;
  Mail* next = nullptr;  ///< behind it in the same queue
};

class ThreadGroup {
 public:
  ThreadGroup(std::shared_ptr<Job> job, std::vector<std::string> hosts);

  Job& job() { return *job_; }
  const std::shared_ptr<Job>& shared_job() const { return job_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Throws when a rank has failed before all came.
  void barrier();
  /// The same where a rank that left early would take away what the others still read: all of them are known to come.
  void last_barrier();
  /// What rank `rank` shows to the others between two barriers.
  const void*& board(int rank) { return board_[static_cast<size_t>(rank)]; }

  /// Puts `mail` into the box of that pair. The lock is held.
  void post(Mail& mail, int from, int to);
  /// The oldest unread mail of the pair, or null. The lock is held.
  Mail* peek(int from, int to);
  /// Copies what peek() gave. `lock` is released meanwhile.
  void take(std::unique_lock<std::mutex>& lock, int from, int to, void* data, size_t bytes);
  /// Ends a message that nobody takes any more. The lock is held.
  void withdraw(std::unique_lock<std::mutex>& lock, Mail& mail, int from, int to);

 private:
  struct Box {
    Mail *first = nullptr, *last = nullptr;
  };
  Box& box(int from, int to) { return boxes_[static_cast<size_t>(from * size() + to)]; }
  /// Counts this rank in; returns the number of the barrier that is waited for.
  uint64_t arrive();

  std::shared_ptr<Job> job_;
  std::vector<std::string> hosts_;
  std::vector<const void*> board_;  ///< one place per rank, valid from one barrier to the next
  std::vector<Box> boxes_;
  int arrived_ = 0;        ///< at the barrier under way
  uint64_t barriers_ = 0;  ///< passed so far: a waiting rank goes on when it changes
};

}  // namespace robusta
