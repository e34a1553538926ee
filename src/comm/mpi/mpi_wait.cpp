// A blocking call of MPI looks for messages in a loop, and on crowded hosts Open MPI offers the processor by
// sched_yield in each round (mpi_yield_when_idle). A thread that does so takes the time of the one it waits for: where
// Linux 6.18 finds nobody else eligible, it picks the same thread again and again, and the others on that processor
// stand for a minute or two. Hence looks with naps between them.

#include "comm/mpi/mpi_wait.h"

#include "comm/arrivals.h"
#include "comm/patience.h"

namespace robusta {
namespace {

constexpr int kSpins = 100;
constexpr std::chrono::microseconds kShortNap{50}, kBulkNap{200};

}  // namespace

void wait_for_requests(std::span<MPI_Request> requests, Traffic traffic) {
  if (requests.empty()) return;
  // Naps, not yields: the scheduler lets a thread that wakes up run at once, but one that yields only after the slice
  // of the one that computes.
  const bool bulk = traffic == Traffic::kBulk;
  int done = 0;
  for (Patience patience(bulk ? 0 : kSpins, 0, bulk ? kBulkNap : kShortNap);; patience.pause()) {
    const int count = static_cast<int>(requests.size());
    check_mpi(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done) break;
  }
  arrivals().fetch_add(1, std::memory_order_relaxed);
}

void meet(MPI_Comm comm) {
  complete_collective("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

}  // namespace robusta
