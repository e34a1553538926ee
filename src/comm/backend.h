/// The seam between join_world() and a message passing library.
///
/// A backend registers itself when the program starts; a build without it lacks its files and nothing else.
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

/// Null in a build without one.
const WorldBackend*& world_backend();

}  // namespace robusta
