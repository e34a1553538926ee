// MPI is started only where a launcher's variables say that there are ranks: a program that runs alone needs none.

#include "comm/world.h"

#include "comm/backend.h"
#include "comm/launch.h"

namespace robusta {

const WorldBackend*& world_backend() {
  static const WorldBackend* backend = nullptr;
  return backend;
}

std::unique_ptr<Communicator> join_world() {
  const Launch launch = own_launch();
  if (!launch.has_rendezvous || !world_backend()) {
    check_launch(launch, world_backend() ? 1 : 0);
    return make_self();
  }
  std::unique_ptr<Communicator> world = world_backend()->join();
  check_launch(launch, world->size());
  return world;
}

void leave_world() {
  if (world_backend()) world_backend()->leave();
}

void abandon_world(int exit_code) {
  if (world_backend()) world_backend()->abandon(exit_code);
  std::_Exit(exit_code);
}

}  // namespace robusta
