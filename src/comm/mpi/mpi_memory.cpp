// One shared window of MPI-3 (MPI_Win_allocate_shared). Room in /dev/shm is agreed upon first: where one rank's part
// failed, the others of its host would wait for it.

#include "comm/mpi/mpi_memory.h"

#include <sys/statvfs.h>

#include <cstdint>
#include <cstring>
#include <numeric>

#include "base/str.h"
#include "comm/page_block.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Places of the ranks of `comm` in `node`; MPI_UNDEFINED for those of other hosts.
std::vector<int> places(MPI_Comm comm, MPI_Comm node) {
  MPI_Group all = MPI_GROUP_NULL, here = MPI_GROUP_NULL;
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_group(comm, &all), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(node, &here), "MPI_Comm_group");
  std::vector<int> ranks(static_cast<size_t>(size)), found(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  check_mpi(MPI_Group_translate_ranks(all, size, ranks.data(), here, found.data()), "MPI_Group_translate_ranks");
  MPI_Group_free(&all);
  MPI_Group_free(&here);
  return found;
}

[[noreturn]] void refuse(size_t bytes) {
  throw Error(ErrorKind::kMemory, str("no memory that the ranks of a host share: ", bytes, " bytes for each of them"),
              "make /dev/shm larger (in a container: --shm-size), or use fewer ranks per host");
}

/// Where /dev/shm is too small, one rank of Open MPI's window fails and leaves the others of the host waiting for it.
void require_room(MPI_Comm node, size_t bytes) {
  int ranks = 1;
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  struct statvfs disk;
  const bool known = ::statvfs("/dev/shm", &disk) == 0;
  int fits = !known || disk.f_bavail * disk.f_frsize >= bytes * static_cast<size_t>(ranks);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  if (!fits) refuse(bytes);
}

/// Every part lies in a mapping that begins with a page, so this skips the same bytes in each process.
void* next_page(void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<void*>((value + kPage - 1) / kPage * kPage);
}

}  // namespace

MpiMemory::MpiMemory(MPI_Comm comm, MPI_Comm node, size_t bytes) : bytes_(bytes) {
  const size_t wanted = whole_pages(bytes) + kPage;
  require_room(node, wanted);
  // Whole pages for each rank: its memory lies where its processor is, and no two ranks write one cache line.
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Info_create(&info), "MPI_Info_create");
  check_mpi(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(wanted), 1, info, node, &base, &window);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) refuse(bytes);
  free_window_at_end(window);
  data_ = next_page(base);
  std::memset(data_, 0, bytes);
  for (const int place : places(comm, node)) {
    MPI_Aint size = 0;
    int unit = 0;
    void* part = nullptr;
    if (place != MPI_UNDEFINED)
      check_mpi(MPI_Win_shared_query(window, place, &size, &unit, &part), "MPI_Win_shared_query");
    peers_.push_back(part ? next_page(part) : nullptr);
  }
}

}  // namespace robusta
