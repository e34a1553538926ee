/// Which layers, bottoms and parameters take part in backward.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// Fills Node::backward, bottom_grads and param_grads and Param::learns: a layer takes part if something below it (or
/// in it) learns and something above it reaches a loss; `propagate_down` and `force_backward` as in Caffe.
void mark_gradients(Graph& graph, const NetOptions& options);

}  // namespace robusta
