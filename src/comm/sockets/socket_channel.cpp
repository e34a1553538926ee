// Numbers of ranks are those of the communicator outside, and those of the job in parcels.

#include "comm/sockets/socket_channel.h"

#include <cassert>

namespace robusta::sockets {

Parcel& SocketChannel::fill(int slot, void* data, size_t bytes, int peer) {
  Parcel& parcel = slots_.at(static_cast<size_t>(slot));
  assert(!parcel.under_way);
  parcel.data = static_cast<std::byte*>(data);
  parcel.bytes = bytes;
  parcel.peer = circle_->ranks.at(static_cast<size_t>(peer));
  parcel.conversation = circle_->conversation;
  return parcel;
}

void SocketChannel::send(int slot, const void* data, size_t bytes, int to) {
  circle_->office->send(fill(slot, const_cast<void*>(data), bytes, to));
}

void SocketChannel::receive(int slot, void* data, size_t bytes, int from) {
  circle_->office->receive(fill(slot, data, bytes, from));
}

}  // namespace robusta::sockets
