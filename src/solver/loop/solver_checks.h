/// What can be said of a solver's file before any net is built.
#pragma once

#include "schema/source.h"

namespace robusta {

/// Throws Error{kConfig|kUnsupported} at the line of the field.
void check_solver(const SolverDef& solver);

}  // namespace robusta
