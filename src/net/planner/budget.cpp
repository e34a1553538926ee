// Parameters, gradients, histories and what layers carry come first; the arena has what is left.

#include "net/planner/budget.h"

#include "layers/kit/model_group.h"
#include "layers/kit/prefetched_source.h"
#include "memory/placement.h"

namespace robusta {

namespace {

/// Of the sources that lend their batches: what Prefetcher says that it keeps.
size_t batches_bytes(const Graph& graph, const Plan& plan) {
  constexpr size_t kBesideTheQueue = 3;
  size_t bytes = 0;
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    if (!step.lends) continue;
    const Layer& source = *graph.nodes[plan.units[step.unit].nodes[0]].layer;
    const size_t batches = static_cast<size_t>(prefetched_batches(source.param())) + kBesideTheQueue;
    for (const ValueId top : step.tops) bytes += batches * align_up(plan.values[top].bytes);
  }
  return bytes;
}

}  // namespace

size_t carried_bytes(const Graph& graph, const NetOptions& options) {
  size_t bytes = 0;
  for (const Node& node : graph.nodes) {
    for (const Shape& shape : node.layer->carried())
      bytes += align_up(TensorDesc{shape, options.dtype, nullptr}.bytes());
  }
  return bytes;
}

ParamBytes param_bytes(const Graph& graph, const NetOptions& options) {
  ParamBytes bytes;
  for (const ParamId p : graph.params.ids()) {
    if (!graph.filled_here[p]) continue;
    const auto group = options.model_groups.find(graph.params[p]->layer);
    const auto parts = static_cast<size_t>(group == options.model_groups.end() ? 1 : group->second->parts());
    bytes.values += align_up(graph.params[p]->desc.bytes());
    bytes.updated += align_up(graph.params[p]->desc.bytes() / parts);
  }
  return bytes;
}

size_t fixed_bytes(const Graph& graph, const NetOptions& options) {
  const size_t carried = carried_bytes(graph, options);
  const ParamBytes params = param_bytes(graph, options);
  if (!options.backward) return carried + params.values;
  const UpdateArrays update = options.budget ? options.budget->update : UpdateArrays();
  return carried + params.values + params.updated + align_up(update.bytes(params.updated)) +
         align_up(options.gradient_tail);
}

size_t kernel_bytes(const Plan& plan) {
  size_t bytes = 0;
  for (const Unit& unit : plan.units) bytes += unit.kernel ? unit.kernel->booking().kept_bytes : 0;
  return bytes;
}

size_t kept_bytes(const Graph& graph, const Plan& plan, const NetOptions& options) {
  const size_t fixed = fixed_bytes(graph, options) + kernel_bytes(plan) + plan.persistent_bytes;
  return options.device->is_host() ? fixed + batches_bytes(graph, plan) : fixed;
}

size_t room_for_arena(const MemoryBudget* budget, size_t fixed, double share) {
  if (!budget || budget->limit == MemoryBudget::kNoLimit) return share == 0 ? 0 : MemoryBudget::kNoLimit;
  const auto allowed = static_cast<size_t>(static_cast<double>(budget->limit) * share);
  const size_t others = budget->taken + fixed;
  return allowed > others ? allowed - others : 0;
}

}  // namespace robusta
