/// Collectives made of exchanges between pairs of ranks, in steps that grow with the logarithm of their number, or, for
/// long sums, in a ring. Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH"
/// (IJHPCA 2005) compares them.
///
/// All ranks call with the same sizes. A sum has the same bits on all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/communicator.h"

namespace robusta {

/// Dissemination (Hensgen, Finkel and Manber 1988).
void exchange_barrier(Communicator& ranks);

/// A binomial tree.
void exchange_broadcast(Communicator& ranks, void* data, size_t bytes, int root);

/// Bruck's algorithm (Bruck et al. 1997).
void exchange_all_gather(Communicator& ranks, const void* mine, size_t bytes, void* all);

/// Sums in place: recursive doubling for short ones; reduce-scatter and all-gather in a ring for the others. kF64 or
/// kF32.
void exchange_all_reduce(Communicator& ranks, void* data, int64_t count, DType type);

}  // namespace robusta
