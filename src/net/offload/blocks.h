/// A plan as blocks of memory with their uses, for those who decide what lies where when.
#pragma once

#include <vector>

#include "memory/residency.h"
#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

struct BlockTable {
  IdVector<BlockId, MemoryBlock> blocks;
  IdVector<BlockId, ValueId> root;                      ///< the value whose memory it is
  IdVector<ValueId, BlockId> block_of;                  ///< none: persistent, or never used
  IdVector<BlockId, std::vector<StepId>> repeat_steps;  ///< what its Repeat runs, in order; empty: it has none
};

/// REQUIRES: share_storage has run.
BlockTable blocks_of(const Graph& graph, const Plan& plan, const MachineRates& rates);

}  // namespace robusta
