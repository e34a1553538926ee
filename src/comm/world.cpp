// MPI is started only where a launcher's variables say that there are ranks of it: a program that runs alone needs
// none, and neither do ranks that were told where to meet.

#include "comm/world.h"

#include "comm/backend.h"
#include "comm/launch.h"

namespace robusta {

const WorldBackend*& world_backend() {
  static const WorldBackend* backend = nullptr;
  return backend;
}

namespace {

/// That of this process's ranks, once it has joined them.
const WorldBackend*& joined_backend() {
  static const WorldBackend* backend = nullptr;
  return backend;
}

const WorldBackend* backend_for(const Launch& launch) {
  if (!launch.meeting_host.empty()) return &sockets_backend();
  return launch.has_rendezvous ? world_backend() : nullptr;
}

}  // namespace

std::unique_ptr<Communicator> join_world() {
  const Launch launch = own_launch();
  check_told(launch);  // before MPI believes it
  const WorldBackend* const backend = backend_for(launch);
  if (!backend) {
    check_launch(launch, world_backend() ? 1 : 0);
    return make_self();
  }
  joined_backend() = backend;
  std::unique_ptr<Communicator> world = backend->join();
  check_launch(launch, world->size());
  return world;
}

std::unique_ptr<Communicator> join_world(const sockets::Meeting& meeting) {
  std::unique_ptr<Communicator> world = sockets::join_meeting(meeting);
  joined_backend() = &sockets_backend();
  return world;
}

void leave_world() {
  if (joined_backend()) joined_backend()->leave();
}

void abandon_world(int exit_code) {
  if (joined_backend()) joined_backend()->abandon(exit_code);
  std::_Exit(exit_code);
}

}  // namespace robusta
