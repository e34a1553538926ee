/// Collectives made of exchanges between pairs of ranks, for groups that are small.
///
/// In round k a rank sends to the one k places behind it and receives from the one k places before it, so that all
/// links work at the same time (Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective Communication
/// Operations in MPICH", section 4.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace robusta {

/// The piece of `bytes` at place r of `out` goes to rank r, and its piece for this rank comes to place r of `in`.
void all_to_all(Communicator& ranks, const void* out, size_t bytes, void* in);

/// Sums `count` elements over the ranks in place: each rank sums a piece of all, in the order of ranks, and hands it to
/// the others. The same bits on each rank, and in each run. `scratch` is made as large as it has to be.
void sum_in_order(Communicator& ranks, void* data, int64_t count, DType type, std::vector<std::byte>& scratch);

}  // namespace robusta
