/// Layers whose backward reads what a later layer, in place, has left in their blob.
///
/// Caffe's gradient of such a layer is no derivative; nets that were trained by it were trained so, and are again here.
#pragma once

#include "net/graph/graph.h"

namespace robusta {

/// Fills Node::overwritten_by and BlobVersion::read_back, and warns of each such layer, with the way to the derivative.
/// What changes no gradient is left out: a ReLU before a Dropout has the derivative. After mark_gradients.
void mark_overwritten(Graph& graph);

}  // namespace robusta
