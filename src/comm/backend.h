/// The seam between join_world() and what carries messages: a message passing library, or sockets of our own.
///
/// The library's backend registers itself when the program starts; a build without it lacks its files and nothing else.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace robusta {

struct WorldBackend {
  /// Starts the library and gives the communicator of all ranks.
  std::unique_ptr<Communicator> (*join)();
  /// Ends the library; waits for the other ranks.
  void (*leave)();
  /// Ends the whole job at once, the other ranks too.
  void (*abandon)(int exit_code);
};

/// The library's. Null in a build without one.
const WorldBackend*& world_backend();

namespace sockets {
struct Meeting;
/// Joins the ranks that come there. Throws Error{kCommunication}; kUsage where this process has joined ranks already.
std::unique_ptr<Communicator> join_meeting(const Meeting& meeting);
}  // namespace sockets

/// For ranks that a launcher told where rank 0 listens (Launch::meeting_host); comm/sockets/.
const WorldBackend& sockets_backend();

}  // namespace robusta
