/// Numbers and combinations that make no training.
#pragma once

#include "schema/source.h"
#include "solver/loop/training.h"

namespace robusta {

/// What can be said of a solver's file before any net is built. Throws Error{kConfig|kUnsupported} at the line of the
/// field.
void check_solver(const SolverDef& solver);

/// What cannot be where parameter servers make the updates (-servers). Throws Error{kConfig}.
void check_served(const Training& training);

/// What cannot be where groups of ranks train by themselves between averages (-sync_every). Throws Error{kConfig}.
void check_local_steps(const Training& training);

/// -shard gradients: throws Error{kConfig} where a setting wants gradients whole, or all of them at a time.
void check_sharded_gradients(const Training& training);

}  // namespace robusta
