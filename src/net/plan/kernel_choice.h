/// Which kernel computes what: candidates are asked best first, fused chains before single layers.
#pragma once

#include <vector>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Chooses the kernel for the unit that begins at `node`: the longest fused chain somebody takes, else the single
/// layer. `bottoms`: descriptors of the first layer's inputs in the layouts their producers leave. Throws
/// Error{kInternal} when nobody takes it (a layer without a reference kernel).
Unit choose_kernel(const Graph& graph, const NetOptions& options, NodeId node, const std::vector<TensorDesc>& bottoms);

}  // namespace robusta
