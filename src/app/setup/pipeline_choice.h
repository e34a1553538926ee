/// Whether the GPUs of -gpu are stages of a pipeline or learners of their own: layers say so by `device`.
#pragma once

#include <vector>

#include "app/flags/options.h"
#include "schema/phases.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// Whether a net that is trained, of any phase, names devices.
bool names_devices(const std::vector<SolverPhase>& phases);

/// The same of the files that the options name, read for this alone: what is wrong with them is left to whoever reads
/// them next.
bool solver_names_devices(const Options& options);

/// How many parts a global batch has: as many as ranks that train, or pipelines of several each.
int learners_of(const SolverDef& solver, const Ranks& ranks);

}  // namespace robusta
