/// Transfers over the post office: each slot is a parcel.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/sockets/post_office.h"

namespace robusta::sockets {

/// The ranks of a communicator, and the number of their conversation.
struct Circle {
  std::shared_ptr<PostOffice> office;
  std::vector<int> ranks;  ///< of the job, by rank of the communicator
  int rank = 0;
  Conversation conversation = 0;
};

class SocketChannel : public Channel {
 public:
  SocketChannel(std::shared_ptr<const Circle> circle, int slots)
      : circle_(std::move(circle)), slots_(static_cast<size_t>(slots)) {}
  void send(int slot, const void* data, size_t bytes, int to) override;
  void receive(int slot, void* data, size_t bytes, int from) override;
  void wait(int slot) override { circle_->office->wait(slots_.at(static_cast<size_t>(slot))); }

 private:
  Parcel& fill(int slot, void* data, size_t bytes, int peer);

  std::shared_ptr<const Circle> circle_;
  std::vector<Parcel> slots_;
};

}  // namespace robusta::sockets
