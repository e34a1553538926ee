/// Which kernel computes what: candidates are asked best first, fused chains before single layers.
#pragma once

#include <functional>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Throws Error{kUsage} with the nearest name where NetOptions::kernels is neither "auto" nor a backend of the
/// options' device or of the processor.
void check_kernels(const NetOptions& options);

/// How a version of a blob lies; null while nothing has computed it.
using FormOf = std::function<const TensorDesc*(VersionId)>;

/// Chooses the kernel for the unit that begins at `node`: the longest fused chain somebody takes, else the single
/// layer. `form_of` is asked for what is read from outside of the chain. Throws Error{kInternal} when nobody takes it
/// (a layer without a reference kernel).
Unit choose_kernel(const Graph& graph, const NetOptions& options, NodeId node, const FormOf& form_of);

}  // namespace robusta
