/// Where a training begins: anew, or where a state says.
#pragma once

#include <memory>

#include "solver/files/snapshot.h"
#include "solver/loop/solver_options.h"
#include "solver/loop/training.h"

namespace robusta {

/// The snapshot to go on from, of a file or of rank 0's memory, with its state in `state`; null for a training that
/// begins anew. Rank 0 reads; the others get the state, and weights and histories when those are shared. Collective.
/// For before nets are planned: the choices of kernels in the state are preset.
std::shared_ptr<const Snapshot> read_snapshot_to_resume(const SolverDef& def, const SolverOptions& options,
                                                        Ranks& ranks, TrainingState& state);

/// random_seed, else that of the state, else one that is drawn; the same on all ranks. Collective.
void choose_seed(const SolverDef& def, bool resuming, Ranks& ranks, TrainingState& state);

/// Samples per iteration, over all ranks.
uint64_t global_batch(const Training& training);

/// Rank 0's weights and histories become those of the snapshot. Throws Error{kModel}, and Error{kConfig} where another
/// number of samples per iteration was not accepted. Collective.
void restore(const Snapshot& snapshot, bool accept_batch_change, Training& training);

}  // namespace robusta
