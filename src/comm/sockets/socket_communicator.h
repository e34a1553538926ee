/// A communicator whose ranks are processes that no MPI brought together: messages over TCP.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/sockets/socket_channel.h"

namespace robusta::sockets {

class SocketCommunicator : public Communicator {
 public:
  explicit SocketCommunicator(Circle circle);

  int rank() const override { return circle_->rank; }
  int size() const override { return static_cast<int>(circle_->ranks.size()); }
  std::string kind() const override { return "sockets"; }
  std::string host() const override;
  void exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) override;
  std::unique_ptr<Channel> open_channel(int slots, Traffic traffic) override;
  void barrier() override;
  void broadcast(void* data, size_t bytes, int root) override;
  void all_gather(const void* mine, size_t bytes, void* all) override;
  void all_reduce(void* data, int64_t count, DType type) override;
  std::unique_ptr<Communicator> split(int colour, int key) override;
  std::shared_ptr<SharedMemory> allocate(size_t bytes) override;
  void check_peers() override { circle_->office->check(); }

 private:
  std::shared_ptr<const Circle> circle_;
  SocketChannel exchanges_;
  uint64_t splits_ = 0;  ///< so far: the same on all ranks
};

}  // namespace robusta::sockets
