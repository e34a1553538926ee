/// From a graph to the plan of its passes, within the memory that they may take.
#pragma once

#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Chooses kernels and layouts, orders the steps, and places every value: what the options' budget leaves is kept to
/// where that is possible (fits() says whether it was). A pure function but for the tuner's timing.
Plan make_plan(const Graph& graph, const NetOptions& options);

}  // namespace robusta
