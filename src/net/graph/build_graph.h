/// Makes the graph of a net from its definition.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// Builds and checks the graph. `lender`: that of the net whose parameters this one uses (NetOptions::share_params), or
/// null. Logs what Caffe logs. Throws Error{kConfig|kData} with layer, file and line.
Graph build_graph(NetDef def, const NetOptions& options, const Graph* lender);

}  // namespace robusta
