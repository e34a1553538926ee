// Waits poll with MPI_Testall and a Patience, because blocking calls of MPI spin on cores that compute. Counts of MPI-3
// are ints, so large messages go in pieces.

#include "comm/mpi/mpi_channel.h"

#include <algorithm>
#include <cassert>

#include "comm/arrivals.h"
#include "comm/patience.h"

namespace robusta {
namespace {

constexpr int kTag = 1;
constexpr int kSpins = 100;
constexpr std::chrono::microseconds kShortNap{50}, kBulkNap{200};

}  // namespace

template <typename Start>
void MpiChannel::start(int slot, std::byte* data, size_t bytes, const Start& start) {
  std::vector<MPI_Request>& requests = slots_.at(static_cast<size_t>(slot));
  assert(requests.empty());
  size_t done = 0;
  do {
    const size_t piece = std::min(bytes - done, largest_message());
    requests.push_back(MPI_REQUEST_NULL);
    start(data + done, static_cast<int>(piece), &requests.back());
    done += piece;
  } while (done < bytes);
}

void MpiChannel::send(int slot, const void* data, size_t bytes, int to) {
  auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  start(slot, from, bytes, [&](std::byte* piece, int count, MPI_Request* request) {
    check_mpi(MPI_Isend(piece, count, MPI_BYTE, to, kTag, comm_, request), "MPI_Isend");
  });
}

void MpiChannel::receive(int slot, void* data, size_t bytes, int from) {
  start(slot, static_cast<std::byte*>(data), bytes, [&](std::byte* piece, int count, MPI_Request* request) {
    check_mpi(MPI_Irecv(piece, count, MPI_BYTE, from, kTag, comm_, request), "MPI_Irecv");
  });
}

void MpiChannel::wait(int slot) {
  std::vector<MPI_Request>& requests = slots_.at(static_cast<size_t>(slot));
  // MPI_Wait would spin on a core that computes, and no call but one of ours moves the data on. Naps, not yields: the
  // scheduler lets a thread that wakes up run at once, but one that yields only after the slice of the one that
  // computes. Each look is such a yield: Open MPI offers the core whenever it finds nothing to do (mpi_yield_when_idle,
  // which it sets itself on crowded hosts).
  int done = requests.empty();
  const bool bulk = traffic_ == Traffic::kBulk;
  for (Patience patience(bulk ? 0 : kSpins, 0, bulk ? kBulkNap : kShortNap); !done; patience.pause()) {
    const int count = static_cast<int>(requests.size());
    check_mpi(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done) break;
  }
  if (!requests.empty()) arrivals().fetch_add(1, std::memory_order_relaxed);
  requests.clear();
}

}  // namespace robusta
