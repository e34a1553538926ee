/// Data and disk, before training: what it will read can be read, and what it will write has room. Collective; throw
/// on all ranks.
#pragma once

#include <string>

#include "solver/solver.h"

namespace robusta {

/// Reads the first and the last batch of an epoch that are this rank's, of the train net and of each test net. Throws
/// Error{kData} naming the record.
std::string check_data(Ranks& ranks, Solver& solver);

/// Looks for what would make rank 0's snapshots fail, free space included. Throws Error{kOutput|kUnsupported}.
std::string check_disk(Ranks& ranks, Solver& solver);

}  // namespace robusta
