/// A message on its way, on the side that sends it or on the one that receives it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace robusta::sockets {

/// Which communicator a message belongs to: all of its ranks compute the same number.
using Conversation = uint64_t;

/// Stays where it is, and its memory too, until it is done.
struct Parcel {
  std::byte* data = nullptr;
  size_t bytes = 0;
  int peer = -1;  ///< by its number in the job
  Conversation conversation = 0;
  bool under_way = false, done = false;
};

}  // namespace robusta::sockets
