/// Ranks: processes (started by mpirun or srun) or threads that train one net together.
///
/// Nobody watches over them here, as `caffe` does: where a process dies, the others wait until the launcher ends them.
/// All calls are collective: every rank makes the same ones in the same order, from one thread at a time. Errors have
/// the kind kCommunication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "robusta/error.h"

namespace robusta::ROBUSTA_V1 {

/// Where ranks meet that a program starts itself, without MPI: rank 0 listens there, over TCP.
struct Meeting {
  int rank = 0, ranks = 1;
  std::string host = "127.0.0.1";  ///< of rank 0
  uint16_t port = 0;
  std::string secret;    ///< the same for all, 16 characters at least; who does not know it gets no answer
  double seconds = 300;  ///< for all to come
};

class ROBUSTA_API Communicator {
 public:
  /// The ranks that a launcher started, this process being one of them; alone without a launcher. At most one lives
  /// in a process at a time; MPI ends with it, which waits for the other ranks.
  static Communicator world();
  /// The ranks that come to this meeting; otherwise as world(). Throws on all of them when one does not come.
  static Communicator meet(const Meeting& meeting);
  /// One rank.
  static Communicator alone();
  /// Runs body on so many threads, each with its rank, and waits for all. The first error is thrown here; calls of
  /// the other ranks then end with an error too.
  static void run_threads(int ranks, const std::function<void(Communicator&)>& body);

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const;
  int size() const;
  std::string host() const;
  /// Among the ranks of this host, in their order: the GPU that a rank takes, for one.
  int local_rank() const;
  int local_size() const;

  void barrier();
  /// `bytes` of them from rank `root` to all.
  void broadcast(void* data, size_t bytes, int root = 0);
  /// Sums over the ranks, element by element, in place; the same bits on every rank.
  void all_reduce(std::span<float> numbers);
  void all_reduce(std::span<double> numbers);

  struct Impl;  ///< the library's own
  explicit Communicator(std::unique_ptr<Impl> impl);
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace robusta::ROBUSTA_V1
