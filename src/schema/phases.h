/// Solver files of several phases (Intel's MultiPhaseSolverParameter): trainings that follow each other, each from the
/// weights that the one before has left.
///
///   params_pair { solver_params { net: "train_val.prototxt" max_iter: 1000 ... } batch_size: 32 }
///   params_pair { batch_size: 256 }
///
/// A pair without solver_params or batch_size has those of the pair before. All phases train the net of the first one.
/// Phase J, from 0, writes snapshots PREFIX_phase_J_iter_N, with the snapshot_prefix of the first pair.
#pragma once

#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta {

struct SolverPhase {
  SolverDef solver;
  int64_t batch = 0;        ///< of the net's first Data layer; 0: as the net says
  std::string batch_where;  ///< file:line
};

/// The phases of a solver's file; a file of a single solver is one, with its own snapshot_prefix. Throws
/// Error{kConfig}.
std::vector<SolverPhase> read_phases(const std::string& path);
std::vector<SolverPhase> parse_phases(const std::string& text, const std::string& name);

/// Sets the batch of a phase. Throws Error{kConfig} for a net without a Data layer.
void set_batch(const SolverPhase& phase, NetDef& net);

}  // namespace robusta
