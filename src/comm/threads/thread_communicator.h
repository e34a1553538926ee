/// A communicator whose ranks are threads of this process.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/threads/group.h"
#include "comm/threads/thread_channel.h"

namespace robusta {

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank);

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::string kind() const override { return "threads"; }
  std::string host() const override { return group_->hosts()[static_cast<size_t>(rank_)]; }
  void exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) override;
  std::unique_ptr<Channel> open_channel(int slots, Traffic) override;
  void barrier() override { group_->barrier(); }
  void broadcast(void* data, size_t bytes, int root) override;
  void all_gather(const void* mine, size_t bytes, void* all) override;
  void all_reduce(void* data, int64_t count, DType type) override;
  std::unique_ptr<Communicator> split(int colour, int key) override;
  std::shared_ptr<SharedMemory> allocate(size_t bytes) override;
  void check_peers() override { group_->job().check(); }

 private:
  /// Shows `mine` to all, calls read(), and returns when all have read.
  template <typename Read>
  void between_barriers(const void* mine, const Read& read);

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  ThreadChannel exchanges_;
};

}  // namespace robusta
