/// A plan as blocks of memory with their uses, for those who decide what lies where when.
#pragma once

#include <vector>

#include "memory/residency.h"
#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

struct BlockTable {
  std::vector<MemoryBlock> blocks;
  std::vector<int> root;                       ///< per block: the value whose memory it is
  std::vector<int> block_of;                   ///< per value; -1: persistent, or never used
  std::vector<std::vector<int>> repeat_steps;  ///< per block: what its Repeat runs, in order; empty: it has none
};

/// REQUIRES: share_storage has run.
BlockTable blocks_of(const Graph& graph, const Plan& plan, const MachineRates& rates);

}  // namespace robusta
