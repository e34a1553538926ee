// The library whose header this was compiled with: its soname stands for its binary interface.

#include <array>
#include <atomic>

#include "comm/mpi/mpi_api.h"

namespace robusta {
namespace {

std::atomic<bool> loaded = false;

/// Open MPI's own plugins use the symbols of the library without being linked to it.
const LateLibrary& library() {
  static const LateLibrary found(
      std::array{std::string(ROBUSTA_MPI_SONAME)},
      {.kind = ErrorKind::kCommunication,
       .user = "a launcher of MPI started this process, and ranks need",
       .fix = "install that MPI (libmpi.so.40 is Open MPI 4 or 5; Debian: openmpi-bin), or name its folder in "
              "LD_LIBRARY_PATH",
       .probe = "MPI_Init_thread",
       .for_others = true});
  loaded = true;
  return found;
}

}  // namespace

void* find_in_mpi(const char* symbol) { return library().find(symbol); }

void* look_for_in_mpi(const char* symbol) { return library().look_for(symbol); }

bool mpi_is_loaded() { return loaded; }

}  // namespace robusta
