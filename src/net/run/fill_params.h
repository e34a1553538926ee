/// First values of parameters.
#pragma once

#include "net/graph/graph.h"

namespace robusta {

/// Fills the parameters that this net owns as their layers' fillers, or the values that layers give, say; others keep
/// what they have.
/// `seed`: of the counter-based generator, so that each parameter's values depend on its layer's name and its index
/// alone. `device`: where parameters are, which `stream` is of. Throws Error{kConfig} naming layer and place.
void fill_params(const Graph& graph, uint64_t seed, const Device& device, Stream& stream);

}  // namespace robusta
