/// The largest batch that memory allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

/// The largest batch whose plan fits in `bytes` of memory, 0 if not even one sample does. `plan_batch(n)` plans the net
/// for a batch of n and returns its bytes.
int64_t largest_batch(size_t bytes, const std::function<size_t(int64_t)>& plan_batch);

/// The largest batch whose plan fits in its budget, 0 if none does or the batch cannot be chosen. `lender`: see
/// build_graph.
int64_t largest_fitting_batch(const NetDef& def, NetOptions options, const Graph* lender = nullptr);

}  // namespace robusta
