/// A net as TensorBoard draws it.
#pragma once

#include "net/graph/graph.h"
#include "tensorboard.pb.h"

namespace robusta {

/// A node for each layer, with the shapes of its tops and the number of its parameters. Split layers, which the trainer
/// has put in, are left out: their readers read what they read. Names are made different where layers share one, and
/// are rid of what means something in a GraphDef (":", "^").
tensorboard::GraphDef graph_def(const Graph& graph);

}  // namespace robusta
