// Counts of MPI-3 are ints, so large messages go in pieces.

#include "comm/mpi/mpi_channel.h"

#include <algorithm>
#include <cassert>

#include "comm/mpi/mpi_wait.h"

namespace robusta {
namespace {

constexpr int kTag = 1;

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
  wait_for_requests(requests, traffic_);
  requests.clear();
}

}  // namespace robusta
