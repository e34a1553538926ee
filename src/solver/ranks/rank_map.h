/// What the log shows of the ranks when a job starts.
#pragma once

#include "solver/ranks/ranks.h"

namespace robusta {

/// One line per rank (of large jobs: per host): host, place among its ranks, processors it may use, threads.
/// Collective.
void log_rank_map(Ranks& ranks);

}  // namespace robusta
