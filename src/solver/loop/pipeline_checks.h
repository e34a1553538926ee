/// What cannot be trained in micro-batches, or in stages on several devices.
#pragma once

#include "solver/loop/solver_options.h"

namespace robusta {

/// Throws Error{kUsage} for a number that is none of micro-batches, Error{kUnsupported} for what a pipeline cannot do.
void check_pipeline(const SolverDef& solver, const SolverOptions& options);

}  // namespace robusta
