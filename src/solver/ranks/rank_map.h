/// Where the ranks run: the processors each gets, and what the log shows of it when a job starts.
#pragma once

#include "solver/ranks/ranks.h"

namespace robusta {

/// Deals out the processors of each host to those of its ranks that were given the same, and sets the threads of this
/// rank (OMP_NUM_THREADS, else one per processor of its share). Collective; before OpenMP starts its threads.
void share_cores(Ranks& ranks);

/// Deals out the processors of each host to those of its ranks that were given the same, sets the threads of this rank
/// (OMP_NUM_THREADS, else one per processor of its share), and logs one line per rank (of large jobs: per host).
/// Collective; before OpenMP starts its threads.
void assign_cores(Ranks& ranks);

}  // namespace robusta
