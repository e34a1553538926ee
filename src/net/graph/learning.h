/// Which parameters learn.
#pragma once

#include "net/graph/graph.h"

namespace robusta {

/// Sets Param::learns: true where some layer wants the gradient. A parameter that another net lends keeps what that net
/// has decided, for kernels of both go by it. `backward`: this net will run it; throws Error{kUsage}, with the layer's
/// name and place, where it then wants gradients that the lender has no memory for, or others than the lender makes.
void mark_learning(Graph& graph, bool backward);

}  // namespace robusta
