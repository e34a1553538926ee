/// Large model support: moves contents that a pass does not need for a while out of the device's memory.
///
/// plan_residency (memory/) decides what; here its answer becomes steps. A content that comes back lives on as another
/// value, at another place; all steps from there on use that one. Kernels, layouts and everything else that results
/// depend on are chosen before, so that the bits are those of the resident pass.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Inserts Offload, Prefetch and Repeat steps so that the arena has at most `budget` bytes if that is possible (else as
/// few as possible), and places all values that do not outlive the pass. `goal`: see ResidencyProblem. REQUIRES:
/// storage is shared, nothing transient is placed yet.
void offload(Plan& plan, const Graph& graph, const NetOptions& options, size_t budget, size_t goal);

}  // namespace robusta
