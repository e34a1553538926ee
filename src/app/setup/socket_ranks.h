/// What -sockets asks for: ranks in threads of this process, each on processors of its own.
///
/// A rank for each NUMA node has its activations, weights and gradients in the memory beside its processors, since
/// Linux places a page where it is first written, and every thread of a rank keeps to its node. What crosses between
/// nodes are the sums of gradients.
#pragma once

#include <vector>

#include "app/flags/options.h"
#include "comm/affinity/cores.h"
#include "solver/ranks/ranks.h"

namespace robusta {

class SocketRanks {
 public:
  /// Looks at the flag and at the host. Throws Error{kUsage} where the value is neither auto nor a number of ranks, and
  /// for what cannot be together with it: -gpu, and threads that OpenMP binds, as those of all ranks would be bound to
  /// the same processors. Under a launcher, which has started the ranks, it asks for nothing, and a line says so.
  explicit SocketRanks(const Options& options);

  /// 1: this process is one rank, as without the flag.
  int count() const { return places_.empty() ? 1 : static_cast<int>(places_.size()); }

  /// This rank's thread, and those it starts, run on its processors; OpenMP has one for each of them, or as many as
  /// OMP_NUM_THREADS says. Call first in the rank's thread. Rank 0 logs who is where.
  void take_place(const Ranks& ranks) const;

 private:
  std::vector<Cores> places_;  ///< of each rank; none: one rank
};

}  // namespace robusta
