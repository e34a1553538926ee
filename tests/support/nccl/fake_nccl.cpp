// A library with NCCL's functions that works on the sim device: streams are robusta::Stream, memory is the host's.
//
// Loaded as the real one is (ROBUSTA_SIM_NCCL). Its ranks are threads or processes of one host, which share memory;
// sums are made in the order of ranks.
//
// ROBUSTA_FAKE_NCCL=WHAT:RANK:NUMBER makes trouble on that rank of a communicator: "unreachable" and "refused" when its
// thread connects for the NUMBERth time, "error" and "hang" in its collective NUMBER (both from 0).
// ROBUSTA_FAKE_NCCL_LOG names a file that gets a line for each communicator and each abort.
#include <algorithm>
#include <cstring>

#include "support/nccl/fake_comm.h"

namespace robusta {
namespace {

using fake::Comm;
using fake::kChunk;
using fake::kMostRanks;

constexpr unsigned kMagic = 0xcafebeef;

std::shared_ptr<Comm>& comm_of(NcclCommHandle handle) { return *reinterpret_cast<std::shared_ptr<Comm>*>(handle); }
Stream* stream_of(NcclStreamHandle handle) { return reinterpret_cast<Stream*>(handle); }
size_t size_of_type(NcclType type) { return type == kNcclFloat64 ? 8 : 4; }

/// Calls body(first byte, bytes) for pieces that fit into a slot.
template <typename Body>
void in_chunks(size_t bytes, const Body& body) {
  for (size_t begin = 0; begin < bytes; begin += kChunk) body(begin, std::min(kChunk, bytes - begin));
}

template <typename T>
void add_slots(Comm& comm, std::byte* to, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    T sum = reinterpret_cast<const T*>(comm.slot(0))[i];
    for (int rank = 1; rank < comm.ranks(); ++rank) sum += reinterpret_cast<const T*>(comm.slot(rank))[i];
    reinterpret_cast<T*>(to)[i] = sum;
  }
}

/// The sum over the ranks, on `root` (-1: on all). Elsewhere `to` becomes NaN: nobody may rely on what is there.
void sum(Comm& comm, const std::byte* from, std::byte* to, size_t bytes, NcclType type, int root) {
  in_chunks(bytes, [&](size_t begin, size_t size) {
    std::memcpy(comm.slot(comm.rank()), from + begin, size);
    comm.barrier();
    if (root >= 0 && root != comm.rank()) {
      std::memset(to + begin, 0xff, size);
    } else if (type == kNcclFloat64) {
      add_slots<double>(comm, to + begin, size);
    } else {
      add_slots<float>(comm, to + begin, size);
    }
    comm.barrier();
  });
}

void send(Comm& comm, const std::byte* from, std::byte* to, size_t bytes, int root) {
  in_chunks(bytes, [&](size_t begin, size_t size) {
    if (root == comm.rank()) std::memcpy(comm.slot(root), from + begin, size);
    comm.barrier();
    if (root != comm.rank() || from != to) std::memcpy(to + begin, comm.slot(root), size);
    comm.barrier();
  });
}

NcclResult begin(NcclCommHandle handle, NcclStreamHandle stream, std::function<void(Comm&)> work) {
  const std::shared_ptr<Comm> comm = comm_of(handle);
  return comm->begin(stream_of(stream), comm, [comm = comm.get(), work = std::move(work)] { work(*comm); });
}

}  // namespace

extern "C" {

NcclResult ncclGetVersion(int* version) {
  *version = 22001;
  return kNcclSuccess;
}

NcclResult ncclGetUniqueId(NcclId* id) {
  static std::atomic<int> made = 0;
  std::snprintf(id->bytes, sizeof id->bytes, "/robusta-fake-nccl-%d-%d", getpid(), made++);
  const int file = shm_open(id->bytes, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(fake::Shared)) != 0) return kNcclSystemError;
  close(file);
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclCommHandle* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  const bool known = config->magic == kMagic && config->size == sizeof *config && config->version == 21400;
  if (!known || config->blocking != 0 || ranks > kMostRanks || rank >= ranks) return kNcclInvalidArgument;
  *comm = reinterpret_cast<NcclCommHandle>(new std::shared_ptr<Comm>(std::make_shared<Comm>(id, ranks, rank)));
  return kNcclInProgress;
}

NcclResult ncclCommFinalize(NcclCommHandle comm) {
  comm_of(comm)->finalize();
  return kNcclInProgress;
}

NcclResult ncclCommDestroy(NcclCommHandle comm) {
  if (comm_of(comm)->busy()) return kNcclInvalidUsage;
  delete &comm_of(comm);
  return kNcclSuccess;
}

NcclResult ncclCommAbort(NcclCommHandle comm) {
  comm_of(comm)->abort();
  delete &comm_of(comm);
  return kNcclSuccess;
}

NcclResult ncclCommGetAsyncError(NcclCommHandle comm, NcclResult* result) {
  *result = comm_of(comm)->poll();
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  return result == kNcclRemoteError ? "remote error" : result == kNcclSystemError ? "system error" : "other error";
}

const char* ncclGetLastError(NcclCommHandle) { return "as the test wants it"; }

NcclResult ncclAllReduce(const std::byte* from, std::byte* to, size_t count, NcclType type, NcclOperation,
                         NcclCommHandle comm, NcclStreamHandle stream) {
  return begin(comm, stream, [=](Comm& c) { sum(c, from, to, count * size_of_type(type), type, -1); });
}

NcclResult ncclReduceScatter(const std::byte* from, std::byte* to, size_t piece, NcclType type, NcclOperation,
                             NcclCommHandle comm, NcclStreamHandle stream) {
  const size_t bytes = piece * size_of_type(type);
  // In place, as it is used.
  if (to != from + bytes * static_cast<size_t>(comm_of(comm)->rank())) return kNcclInvalidArgument;
  std::byte* const all = to - bytes * static_cast<size_t>(comm_of(comm)->rank());
  return begin(comm, stream, [=](Comm& c) {
    for (int root = 0; root < c.ranks(); ++root) {
      std::byte* const part = all + bytes * static_cast<size_t>(root);
      sum(c, part, part, bytes, type, root);
    }
  });
}

NcclResult ncclAllGather(const std::byte* from, std::byte* to, size_t piece, NcclType type, NcclCommHandle comm,
                         NcclStreamHandle stream) {
  const size_t bytes = piece * size_of_type(type);
  if (from != to + bytes * static_cast<size_t>(comm_of(comm)->rank())) return kNcclInvalidArgument;
  return begin(comm, stream, [=](Comm& c) {
    for (int root = 0; root < c.ranks(); ++root) {
      std::byte* const part = to + bytes * static_cast<size_t>(root);
      send(c, part, part, bytes, root);
    }
  });
}

NcclResult ncclReduce(const std::byte* from, std::byte* to, size_t count, NcclType type, NcclOperation, int root,
                      NcclCommHandle comm, NcclStreamHandle stream) {
  return begin(comm, stream, [=](Comm& c) { sum(c, from, to, count * size_of_type(type), type, root); });
}

NcclResult ncclBroadcast(const std::byte* from, std::byte* to, size_t count, NcclType type, int root,
                         NcclCommHandle comm, NcclStreamHandle stream) {
  return begin(comm, stream, [=](Comm& c) { send(c, from, to, count * size_of_type(type), root); });
}

}  // extern "C"

}  // namespace robusta
