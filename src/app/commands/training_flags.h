/// What the flags of `caffe` say about a training; for `train` and `check`.
#pragma once

#include <string>

#include "solver/solver.h"

namespace robusta {

/// Throws Error{kUsage} unless -solver is given, and -snapshot and -weights are not both.
void check_training_flags(const std::string& action);

/// -solver in the state of -level and -stage, with the rate of -lr_scaling. Throws Error.
SolverDef solver_from_flags(int ranks);

/// The state to go on from by -snapshot, "" for a fresh start.
std::string snapshot_from_flags(const SolverDef& solver, int ranks);

/// -kernels, -share_memory, -batch, -accept_batch_change and -weights.
SolverOptions solver_options_from_flags(Ranks& ranks);

}  // namespace robusta
