/// A window of memory that the ranks of a host share.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "comm/mpi/mpi_call.h"

namespace robusta {

class MpiMemory : public SharedMemory {
 public:
  /// Collective over `comm`; `node` holds those of its ranks that share memory with this one.
  MpiMemory(MPI_Comm comm, MPI_Comm node, size_t bytes);
  size_t bytes() const override { return bytes_; }
  void* data() const override { return data_; }
  void* peer(int rank) const override { return peers_[static_cast<size_t>(rank)]; }

 private:
  size_t bytes_;
  void* data_ = nullptr;      ///< this rank's part
  std::vector<void*> peers_;  ///< of each rank of `comm`
};

}  // namespace robusta
