// A library with NCCL's functions that works on the sim device: streams are robusta::Stream, memory is the host's.
//
// Loaded as the real one is (ROBUSTA_SIM_NCCL). Its ranks are threads or processes of one host, which meet in shared
// memory; sums are made in the order of ranks. As with NCCL's communicators that do not block, a call returns before
// its work is enqueued: that happens when it is polled for the second time, so an event recorded too early shows.
//
// ROBUSTA_FAKE_NCCL=WHAT:RANK:NUMBER makes trouble on that rank of a communicator: "unreachable" and "refused" when its
// thread connects for the NUMBERth time, "error" and "hang" in its collective NUMBER (both from 0).
// ROBUSTA_FAKE_NCCL_LOG names a file that gets a line for each communicator and each abort.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "device/device.h"
#include "device/nccl/nccl_api.h"

namespace robusta {
namespace {

constexpr int kMostRanks = 16;
constexpr size_t kChunk = size_t{1} << 16;
constexpr unsigned kMagic = 0xcafebeef;

/// What the ranks of a communicator share.
struct Meeting {
  std::atomic<int> joined, arrived;
  std::atomic<unsigned> round;
  alignas(64) std::byte slots[kMostRanks][kChunk];
};

struct Fault {
  std::string what;
  int rank = -1, call = 0;
};

Fault fault_asked_for() {
  const char* text = std::getenv("ROBUSTA_FAKE_NCCL");
  char what[16] = "";
  Fault fault;
  if (text && std::sscanf(text, "%15[a-z]:%d:%d", what, &fault.rank, &fault.call) >= 2) fault.what = what;
  return fault;
}

void log_line(const std::string& line) {
  const char* const file = std::getenv("ROBUSTA_FAKE_NCCL_LOG");
  if (!file) return;
  const int out = open(file, O_WRONLY | O_APPEND | O_CREAT, 0644);
  const std::string text = line + "\n";
  if (write(out, text.data(), text.size()) < 0) std::abort();
  close(out);
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Ends the collective of a communicator that is aborted.
struct Aborted {};

class Comm {
 public:
  Comm(const NcclId& id, int ranks, int rank) : ranks_(ranks), rank_(rank), fault_(fault_asked_for()), name_(id.bytes) {
    const int file = shm_open(name_.c_str(), O_RDWR, 0600);
    void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) std::abort();
    meeting_ = static_cast<Meeting*>(memory);
    log_line("connect " + std::to_string(rank) + " of " + std::to_string(ranks));
    static thread_local int connections = 0;
    const bool strikes = connections++ == fault_.call;
    if (strikes && mine("refused")) error_ = kNcclSystemError;
    if (strikes && (mine("unreachable") || mine("refused"))) return;
    if (meeting_->joined.fetch_add(1) + 1 == ranks) shm_unlink(name_.c_str());
  }
  ~Comm() { munmap(meeting_, sizeof(Meeting)); }
  Comm(const Comm&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool busy() const { return waiting_ > 0; }

  NcclResult poll() {
    if (error_ != kNcclSuccess) return error_;
    if (meeting_->joined < ranks_) return kNcclInProgress;
    if (begun_) {
      if (polls_++ == 0) return kNcclInProgress;
      std::exchange(begun_, nullptr)();
    }
    return finalizing_ && busy() ? kNcclInProgress : kNcclSuccess;
  }

  /// Enqueues `work` when polled.
  NcclResult begin(Stream* stream, const std::shared_ptr<Comm>& self, std::function<void()> work) {
    if (begun_ || finalizing_ || poll() != kNcclSuccess) return kNcclInvalidUsage;
    const bool strikes = calls_++ == fault_.call;
    if (strikes && mine("error")) error_ = kNcclRemoteError;
    const bool hangs = strikes && (mine("hang") || mine("error"));
    ++waiting_;
    polls_ = 0;
    begun_ = [stream, self, hangs, work = std::move(work)] {
      stream->run([self, hangs, work] { self->run(hangs, work); });
    };
    if (error_ != kNcclSuccess) std::exchange(begun_, nullptr)();
    return kNcclInProgress;
  }

  void finalize() { finalizing_ = true; }
  /// What has not begun will do nothing.
  void abort() {
    log_line("abort " + std::to_string(rank_));
    aborted_ = true;
    begun_ = nullptr;
    shm_unlink(name_.c_str());
    while (running_ > 0) nap();
  }

  void meet() {
    const unsigned round = meeting_->round;
    if (meeting_->arrived.fetch_add(1) + 1 == ranks_) {
      meeting_->arrived = 0;
      ++meeting_->round;
      return;
    }
    while (meeting_->round == round) {
      if (aborted_) throw Aborted{};
      nap();
    }
  }
  std::byte* slot(int rank) { return meeting_->slots[rank]; }

 private:
  bool mine(const char* what) const { return fault_.what == what && fault_.rank == rank_; }

  void run(bool hangs, const std::function<void()>& work) {
    ++running_;
    try {
      while (hangs && !aborted_) nap();
      if (!aborted_) work();
    } catch (const Aborted&) {}
    --running_;
    --waiting_;
  }

  int ranks_, rank_;
  Fault fault_;
  std::string name_;
  Meeting* meeting_;
  NcclResult error_ = kNcclSuccess;
  bool finalizing_ = false;
  int calls_ = 0, polls_ = 0;
  std::function<void()> begun_;
  std::atomic<bool> aborted_ = false;
  std::atomic<int> waiting_ = 0, running_ = 0;
};

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
    comm.meet();
    if (root >= 0 && root != comm.rank()) {
      std::memset(to + begin, 0xff, size);
    } else if (type == kNcclFloat64) {
      add_slots<double>(comm, to + begin, size);
    } else {
      add_slots<float>(comm, to + begin, size);
    }
    comm.meet();
  });
}

void send(Comm& comm, const std::byte* from, std::byte* to, size_t bytes, int root) {
  in_chunks(bytes, [&](size_t begin, size_t size) {
    if (root == comm.rank()) std::memcpy(comm.slot(root), from + begin, size);
    comm.meet();
    if (root != comm.rank() || from != to) std::memcpy(to + begin, comm.slot(root), size);
    comm.meet();
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
  if (file < 0 || ftruncate(file, sizeof(Meeting)) != 0) return kNcclSystemError;
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
