// The life of MPI in this process.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "base/address_space.h"
#include "base/str.h"
#include "comm/backend.h"
#include "comm/liveness/exit_file.h"
#include "comm/mpi/mpi_call.h"
#include "comm/mpi/mpi_communicator.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct Remains {
  std::mutex mutex;
  std::vector<MPI_Win> windows;
  std::vector<MPI_Comm> comms;
};

Remains& remains() {
  static Remains kept;
  return kept;
}

bool is_running() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

void start() {
  int given = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given), "MPI_Init_thread");
  if (given >= MPI_THREAD_MULTIPLE) return;
  throw Error(ErrorKind::kCommunication, "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE)",
              "use an MPI built with thread support; Debian's Open MPI and MPICH are");
}

/// Open MPI maps the other ranks' memory with the first message, and waits for good where it cannot.
void require_room_for_messages() {
  constexpr size_t kLeast = size_t{32} << 20;
  if (has_address_space(kLeast)) return;
  const Error error(ErrorKind::kMemory, "there is no memory left to exchange messages with other ranks",
                    "raise `ulimit -v`");
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  write_exit_file(error.exit_code(), rank, error.what());
  throw error;
}

std::unique_ptr<Communicator> join() {
  if (!is_running()) start();
  require_room_for_messages();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm world = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(world);
}

/// In the order in which they were made, which is the same on all ranks that share one.
void leave() {
  if (!mpi_is_loaded() || !is_running()) return;
  for (MPI_Win& window : remains().windows) MPI_Win_free(&window);
  for (MPI_Comm& comm : remains().comms) MPI_Comm_free(&comm);
  remains().windows.clear(), remains().comms.clear();
  MPI_Finalize();
}

void abandon(int exit_code) {
  if (mpi_is_loaded() && is_running()) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

constexpr WorldBackend kMpi{join, leave, abandon};
const bool registered = (world_backend() = &kMpi, true);

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(ErrorKind::kCommunication, str(call, ": ", std::string(text.data(), static_cast<size_t>(length))));
}

size_t largest_message() {
  static const size_t limit = [] {
    const char* text = std::getenv("ROBUSTA_MPI_MESSAGE");
    const long long asked = text ? std::atoll(text) : 0;
    return asked > 0 ? std::min(static_cast<size_t>(asked), Channel::kLargest) : Channel::kLargest;
  }();
  return limit;
}

void free_comm_at_end(MPI_Comm comm) {
  const std::lock_guard lock(remains().mutex);
  remains().comms.push_back(comm);
}

void free_window_at_end(MPI_Win window) {
  const std::lock_guard lock(remains().mutex);
  remains().windows.push_back(window);
}

}  // namespace robusta
