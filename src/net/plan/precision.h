/// How the activations of each layer, and their gradients, are stored.
///
/// On a GPU they may have 16 bits: for all layers alike (NetOptions::precision), or as NVIDIA's fields of net and layer
/// say. Kernels compute in float and may keep some of their tensors in f32 (Booking::top_types). Sources deliver f32,
/// parameters and their gradients are f32. On the host everything is NetOptions::dtype.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// What the tops of `node` should be stored as.
DType storage_of(const Graph& graph, const NetOptions& options, NodeId node);

/// Logs, in a line each, where what is asked for is not what the device does: 16 bits on the host, DOUBLE on a GPU,
/// different types forward and backward.
void explain_precision(const Graph& graph, const NetOptions& options);

/// "f32", "bf16" and "fp16" (or "f16"). Throws Error{kUsage} for another text.
DType precision_from(const std::string& text);

}  // namespace robusta
