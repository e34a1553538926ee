// Collectives of MPI-3 behind the Communicator's interface. Every return code is checked, since MPI's own handler would
// end the process without a report. No rank waits for another one in a blocking call (mpi_wait.cpp says why): short
// collectives are nonblocking ones, and before the others, whose algorithms the library chooses better, all ranks meet.
// Which of both is a matter of the bytes alone, as MPI does not let a blocking call meet a nonblocking one.

#include "comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/str.h"
#include "comm/host_name.h"
#include "comm/mpi/mpi_memory.h"
#include "comm/mpi/mpi_wait.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kShortBytes = 64 << 10;  ///< up to here latency counts, and every algorithm does

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm)
    : comm_(comm), host_(host_name()), exchanges_(comm, 2, Traffic::kShort) {
  free_comm_at_end(comm);
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
}

void MpiCommunicator::exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) {
  if (from >= 0) exchanges_.receive(1, in, in_bytes, from);
  if (to >= 0) exchanges_.send(0, out, out_bytes, to);
  exchanges_.wait(0);
  exchanges_.wait(1);
}

std::unique_ptr<Channel> MpiCommunicator::open_channel(int slots, Traffic traffic) {
  return std::make_unique<MpiChannel>(comm_, slots, traffic);
}

void MpiCommunicator::barrier() { meet(comm_); }

void MpiCommunicator::broadcast(void* data, size_t bytes, int root) {
  if (bytes <= std::min(kShortBytes, largest_message())) {
    return complete_collective("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_, request);
    });
  }
  meet(comm_);
  for (size_t done = 0; done < bytes; done += largest_message()) {
    const int piece = static_cast<int>(std::min(bytes - done, largest_message()));
    check_mpi(MPI_Bcast(static_cast<std::byte*>(data) + done, piece, MPI_BYTE, root, comm_), "MPI_Bcast");
  }
}

void MpiCommunicator::all_gather(const void* mine, size_t bytes, void* all) {
  const int count = static_cast<int>(std::min(bytes, largest_message()));
  if (bytes * static_cast<size_t>(size_) <= std::min(kShortBytes, largest_message())) {
    return complete_collective("MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_, request);
    });
  }
  if (bytes <= largest_message()) {
    meet(comm_);
    check_mpi(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_), "MPI_Allgather");
    return;
  }
  const auto part = [&](int rank) { return static_cast<std::byte*>(all) + static_cast<size_t>(rank) * bytes; };
  std::memmove(part(rank_), mine, bytes);
  for (int root = 0; root < size_; ++root) broadcast(part(root), bytes, root);
}

void MpiCommunicator::all_reduce(void* data, int64_t count, DType type) {
  const MPI_Datatype mpi_type = type == DType::kF64 ? MPI_DOUBLE : MPI_FLOAT;
  const auto limit = static_cast<int64_t>(std::max<size_t>(largest_message() / size_of(type), 1));
  // What may be memory of a GPU is left to the blocking call, as nonblocking ones add on the processor.
  const bool short_sum = count <= limit && static_cast<size_t>(count) * size_of(type) <= kShortBytes;
  if (short_sum && !sums_memory_of("cuda")) {
    return complete_collective("MPI_Iallreduce", [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count), mpi_type, MPI_SUM, comm_, request);
    });
  }
  meet(comm_);
  for (int64_t done = 0; done < count; done += limit) {
    void* piece = static_cast<std::byte*>(data) + static_cast<size_t>(done) * size_of(type);
    const int elements = static_cast<int>(std::min(count - done, limit));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, piece, elements, mpi_type, MPI_SUM, comm_), "MPI_Allreduce");
  }
}

bool MpiCommunicator::sums_memory_of(std::string_view kernel_kind) const {
  if (Communicator::sums_memory_of(kernel_kind)) return true;
  // An extension of Open MPI and MPICH (mpi-ext.h), which not every build has.
  static const auto query = reinterpret_cast<int (*)()>(look_for_in_mpi("MPIX_Query_cuda_support"));
  return query && query() == 1;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int colour, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  meet(comm_);
  check_mpi(MPI_Comm_split(comm_, colour, key, &part), "MPI_Comm_split");
  return std::make_unique<MpiCommunicator>(part);
}

std::shared_ptr<SharedMemory> MpiCommunicator::allocate(size_t bytes) {
  meet(comm_);
  if (node_ == MPI_COMM_NULL) {
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_), "MPI_Comm_split_type");
    free_comm_at_end(node_);
    check_mpi(MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  std::shared_ptr<MpiMemory> memory;
  std::optional<Error> error;
  try {
    memory = std::make_shared<MpiMemory>(comm_, node_, bytes);
  } catch (const Error& thrown) {
    error = thrown;
  }
  // Nobody reads before everybody has zeroed. A host may be short of memory where the others are not.
  const std::vector<char> failed = gather(static_cast<char>(error.has_value()));
  if (error) throw *error;
  const auto first = std::find(failed.begin(), failed.end(), 1);
  if (first == failed.end()) return memory;
  throw Error(ErrorKind::kMemory,
              str("the host of rank ", first - failed.begin(), " has no memory that its ranks share: ", bytes,
                  " bytes for each of them"),
              "make /dev/shm larger there (in a container: --shm-size), or use fewer ranks per host");
}

}  // namespace robusta
