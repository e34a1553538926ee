/// How much of the memory that nets may take is left for the arena of one of them.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Bytes of what layers carry from one pass to the next (Layer::carried).
size_t carried_bytes(const Graph& graph, const NetOptions& options);

/// Bytes of a net's own parameters.
struct ParamBytes {
  size_t values = 0;
  size_t updated = 0;  ///< of them those that this rank has gradients and histories of: of layers that ranks share out
                       ///< its part, though values are whole while tests want them
};
ParamBytes param_bytes(const Graph& graph, const NetOptions& options);

/// Bytes of what layers carry, of the net's own parameters, of their gradients and of the update's histories.
/// Parameters that it shares from another net are that one's.
size_t fixed_bytes(const Graph& graph, const NetOptions& options);

/// Bytes of the weights that kernels keep in another form, outside of arena and persistent values.
size_t kernel_bytes(const Plan& plan);

/// What the net keeps from pass to pass: all of these, the plan's persistent values, and on the host the batches that
/// its sources have ready or make ahead (data/prefetcher.h), which the net reads where they lie. All but the arena.
size_t kept_bytes(const Graph& graph, const Plan& plan, const NetOptions& options);

/// What `share` of the budget leaves for an arena beside `fixed` bytes; MemoryBudget::kNoLimit without a budget.
size_t room_for_arena(const MemoryBudget* budget, size_t fixed, double share);

/// Whether the plan keeps to its budget.
inline bool fits(const Plan& plan) { return plan.arena_bytes <= plan.arena_budget; }

}  // namespace robusta
