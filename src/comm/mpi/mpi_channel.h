/// Transfers by MPI. A message is cut into pieces of largest_message().
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "comm/mpi/mpi_call.h"

namespace robusta {

class MpiChannel : public Channel {
 public:
  MpiChannel(MPI_Comm comm, int slots, Traffic traffic)
      : comm_(comm), traffic_(traffic), slots_(static_cast<size_t>(slots)) {}
  void send(int slot, const void* data, size_t bytes, int to) override;
  void receive(int slot, void* data, size_t bytes, int from) override;
  void wait(int slot) override;

 private:
  /// Calls start(piece, bytes, request) for each piece; an empty message has one.
  template <typename Start>
  void start(int slot, std::byte* data, size_t bytes, const Start& start);

  MPI_Comm comm_;
  Traffic traffic_;
  std::vector<std::vector<MPI_Request>> slots_;  ///< of each slot: a long message is several of MPI's
};

}  // namespace robusta
