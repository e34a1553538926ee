// The order of planning: kernels and steps, who shares memory with whom, where everything lies. Large model support
// comes last, so that it changes no kernel and hence no bit of the results.

#include "net/planner/planner.h"

#include "net/offload/offload.h"
#include "net/plan/plan_builder.h"
#include "net/plan/sharing.h"
#include "net/planner/budget.h"

namespace robusta {
namespace {

/// What the pass would take with every version's data and gradient side by side.
size_t unshared_bytes(const Plan& plan, const Graph& graph, const NetOptions& options) {
  IdVector<NodeId, DType> storage(graph.nodes.size(), options.dtype);
  for (const Unit& unit : plan.units) {
    for (const NodeId node : unit.nodes) storage[node] = unit.storage;
  }
  size_t bytes = 0;
  for (const VersionId v : graph.versions.ids()) {
    const BlobVersion& version = graph.versions[v];
    // What a fused kernel keeps to itself has no value.
    const ValueId value = plan.data[v];
    const DType type = value ? plan.values[value].desc.dtype : storage[version.producer];
    bytes += static_cast<size_t>(version.shape.count()) * size_of(type) * (options.backward ? 2 : 1);
  }
  return bytes;
}

/// In an arena of what the budget leaves, if that is enough or can be made to be.
void place_in_budget(Plan& plan, const Graph& graph, const NetOptions& options) {
  const size_t fixed = kept_bytes(graph, plan, options);
  plan.arena_budget = room_for_arena(options.budget.get(), fixed, 1);
  // Values that change places in the middle of a pass have to be there.
  const bool moves = options.lms.mode != LmsOptions::Mode::kOff && !options.device->is_host() && graph.sizers.empty();
  if (!moves || !options.share_memory) return place_transient(plan, options.share_memory);
  const bool all = options.lms.mode == LmsOptions::Mode::kThreshold || options.lms.fraction > 0;
  const double share = all ? options.lms.fraction : 1;
  offload(plan, graph, options, plan.arena_budget, room_for_arena(options.budget.get(), fixed, share));
}

}  // namespace

Plan make_plan(const Graph& graph, const NetOptions& options) {
  PlanBuilder builder(graph, options);
  builder.add_forward();
  if (options.backward) builder.add_backward();
  builder.add_packed_params();
  if (options.backward) builder.add_packed_gradients();
  builder.mark_gradient_parts();
  Plan plan = builder.take();
  share_storage(plan, options.share_memory);
  if (options.keep_blobs) keep_for_backward(plan);
  place_persistent(plan);
  place_in_budget(plan, graph, options);
  plan.unshared_bytes = unshared_bytes(plan, graph, options);
  return plan;
}

}  // namespace robusta
