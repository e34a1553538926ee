/// What cannot be trained in micro-batches, or in stages on several devices.
#pragma once

#include "solver/loop/solver_options.h"

namespace robusta {

/// Throws Error{kUsage} for a number that is none of micro-batches, Error{kUnsupported} for what a pipeline cannot do.
void check_pipeline(const SolverDef& solver, const SolverOptions& options);

/// In how many stages ranks train the net, one each, as its layers name devices; 1: each rank trains all of it. Throws
/// Error{kUnsupported|kConfig} with file and line for what cannot be.
int stages_over_ranks(const SolverDef& solver, const SolverOptions& options);

}  // namespace robusta
