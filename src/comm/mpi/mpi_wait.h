/// Waiting for MPI without taking the processor from those who compute.
#pragma once

#include <span>

#include "comm/communicator.h"
#include "comm/mpi/mpi_call.h"

namespace robusta {

/// Waits until all of `requests` are complete, and sets them to MPI_REQUEST_NULL. Looks now and then, by Patience.
/// Throws Error{kCommunication}.
void wait_for_requests(std::span<MPI_Request> requests, Traffic traffic);

/// A short collective: start(&request) is one of MPI's nonblocking calls, which `call` names. Returns when it is
/// complete. Throws Error{kCommunication}.
template <typename Start>
void complete_collective(const char* call, const Start& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(start(&request), call);
  wait_for_requests({&request, 1}, Traffic::kShort);
}

/// Waits until all ranks of `comm` have come here. Before a blocking collective: then it takes the time of its
/// transfer, and not that of the slowest rank.
void meet(MPI_Comm comm);

}  // namespace robusta
