#include "net/plan.h"

#include "net/options.h"
#include "net/plan_builder.h"

namespace robusta {
namespace {

/// What the pass would take with every version's data and gradient side by side.
size_t unshared_bytes(const Graph& graph, const NetOptions& options) {
  size_t bytes = 0;
  for (const BlobVersion& version : graph.versions) {
    bytes += static_cast<size_t>(version.shape.count()) * size_of(options.dtype) * (options.backward ? 2 : 1);
  }
  return bytes;
}

}  // namespace

Plan make_plan(const Graph& graph, const NetOptions& options) {
  PlanBuilder builder(graph, options);
  builder.add_forward();
  if (options.backward) builder.add_backward();
  builder.mark_gradient_parts();
  Plan plan = builder.take();
  place_values(plan, options.share_memory);
  plan.unshared_bytes = unshared_bytes(graph, options);
  return plan;
}

}  // namespace robusta
