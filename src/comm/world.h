/// How a process joins the ranks it was started with.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace robusta {

/// Started by mpirun or srun: the communicator of all ranks (initialises MPI with MPI_THREAD_MULTIPLE and checks that
/// it is given). Started by torchrun and its kind, which tell where rank 0 listens: that of ranks over sockets. Else,
/// or in a build without MPI: self. Throws Error{kCommunication} when what the launcher announced (its own variables,
/// Slurm's, PBS's) and the size of the MPI world disagree: N ranks would train N models.
std::unique_ptr<Communicator> join_world();

namespace sockets {
struct Meeting;
}
/// The ranks that come to this meeting, whatever a launcher says. Throws Error{kCommunication}; kUsage where this
/// process has joined ranks already.
std::unique_ptr<Communicator> join_world(const sockets::Meeting& meeting);

/// One rank alone.
std::unique_ptr<Communicator> make_self();

/// Ends what join_world has started; call after all communicators are gone. Waits for the other ranks.
void leave_world();

/// Ends the process, and all other ranks with it, at once: for an error on one rank, where leave_world() would wait for
/// peers that do not come.
[[noreturn]] void abandon_world(int exit_code);

}  // namespace robusta
