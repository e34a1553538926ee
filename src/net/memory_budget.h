/// Whether a net fits in the memory that it may take, and what to say and do when it does not.
#pragma once

#include "net/graph.h"
#include "net/options.h"
#include "net/plan.h"
#include "robusta/error.h"

namespace robusta {

/// Bytes of the net's own parameters, of their gradients and of the update's histories. Parameters that it shares from
/// another net are that one's.
size_t fixed_bytes(const Graph& graph, const NetOptions& options);

/// What `share` of the budget leaves for an arena beside `fixed` bytes; MemoryBudget::kNoLimit without a budget.
size_t room_for_arena(const MemoryBudget* budget, size_t fixed, double share);

/// Whether the plan keeps to its budget.
inline bool fits(const Plan& plan) { return plan.arena_bytes <= plan.arena_budget; }

/// The error for a plan that does not: names the largest values, the largest batch that fits, and the -lms that would
/// make this batch fit. Plans the net for other batches to find out. REQUIRES: !fits(plan).
Error out_of_memory(const Graph& graph, const Plan& plan, const NetOptions& options);

/// The largest batch whose plan fits in its budget, 0 if none does or the batch cannot be chosen.
int64_t largest_fitting_batch(const NetDef& def, NetOptions options);

}  // namespace robusta
