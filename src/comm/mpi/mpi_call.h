/// What all uses of MPI share: its errors as ours, the size of its messages, and what ends with it.
#pragma once

#include <cstddef>

#include "comm/mpi/mpi_api.h"

namespace robusta {

/// Throws Error{kCommunication} with the library's words unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// The largest single message in bytes: MPI counts elements in an int. $ROBUSTA_MPI_MESSAGE makes it smaller, so that
/// tests can cut messages without gigabytes.
size_t largest_message();

/// Communicators and windows end with MPI: freeing them is collective, and destructors do not communicate.
void free_comm_at_end(MPI_Comm comm);
void free_window_at_end(MPI_Win window);

}  // namespace robusta
