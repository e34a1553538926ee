/// A communicator over MPI. Only standard MPI-3; calls may come from several threads if each has its own communicator.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/mpi/mpi_channel.h"

namespace robusta {

class MpiCommunicator : public Communicator {
 public:
  /// `comm` is freed when MPI ends.
  explicit MpiCommunicator(MPI_Comm comm);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string kind() const override { return "mpi"; }
  std::string host() const override { return host_; }
  void exchange(const void* out, size_t out_bytes, int to, void* in, size_t in_bytes, int from) override;
  std::unique_ptr<Channel> open_channel(int slots, Traffic traffic) override;
  void barrier() override;
  void broadcast(void* data, size_t bytes, int root) override;
  void all_gather(const void* mine, size_t bytes, void* all) override;
  void all_reduce(void* data, int64_t count, DType type) override;
  /// CUDA's where MPI says that it was built for that.
  bool sums_memory_of(std::string_view kernel_kind) const override;
  std::unique_ptr<Communicator> split(int colour, int key) override;
  std::shared_ptr<SharedMemory> allocate(size_t bytes) override;

 private:
  MPI_Comm comm_, node_ = MPI_COMM_NULL;  ///< node_: the ranks that can share memory; made when first needed
  int rank_ = 0, size_ = 1;
  std::string host_;
  MpiChannel exchanges_;
};

}  // namespace robusta
