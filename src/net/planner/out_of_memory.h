/// What to say when a net does not fit in the memory that it may take.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"
#include "robusta/error.h"

namespace robusta {

/// The error for a plan that does not: names the largest values, the largest batch that fits, and the -lms that would
/// make this batch fit. Plans the net for other batches to find out. `lender`: see build_graph. REQUIRES: !fits(plan).
Error out_of_memory(const Graph& graph, const Plan& plan, const NetOptions& options, const Graph* lender = nullptr);

}  // namespace robusta
