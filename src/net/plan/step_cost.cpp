// The roofline model (Williams, Waterman and Patterson 2009): a step takes as long as its arithmetic or its memory
// traffic, whichever is longer.

#include "net/plan/step_cost.h"

#include <algorithm>

namespace robusta {
namespace {

double traffic(const Plan& plan, const Step& step) {
  size_t bytes = 0;
  for (const auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (const ValueId value : *values) bytes += value ? plan.values[value].bytes : 0;
  }
  if (!step.unit) return static_cast<double>(bytes);
  const Unit& unit = plan.units[step.unit];
  for (const Param* param : unit.params) bytes += step.reorder ? 0 : param->desc.bytes();
  return static_cast<double>(bytes);
}

double arithmetic(const Graph& graph, const Plan& plan, const Step& step) {
  if (step.kind != StepKind::kForward && step.kind != StepKind::kBackward) return 0;
  const Unit& unit = plan.units[step.unit];
  if (step.kind == StepKind::kForward) return unit_flops(graph, unit);
  const bool bottoms =
      std::any_of(step.bottom_diffs.begin(), step.bottom_diffs.end(), [](ValueId v) { return bool(v); });
  const bool params = std::find(unit.param_grads.begin(), unit.param_grads.end(), true) != unit.param_grads.end();
  return unit_flops(graph, unit) * ((bottoms ? 1 : 0) + (params ? 1 : 0));
}

}  // namespace

double unit_flops(const Graph& graph, const Unit& unit) {
  double flops = 0;
  for (const NodeId n : unit.nodes) {
    const Node& node = graph.nodes[n];
    std::vector<Shape> bottoms, tops;
    for (const VersionId v : node.bottoms) bottoms.push_back(graph.versions[v].shape);
    for (const VersionId v : node.tops) tops.push_back(graph.versions[v].shape);
    if (!node.source) flops += node.layer->forward_flops(bottoms, tops);
  }
  return flops;
}

StepWork step_work(const Graph& graph, const Plan& plan, const Step& step) {
  return {arithmetic(graph, plan, step), traffic(plan, step)};
}

double step_seconds(const Graph& graph, const Plan& plan, const Step& step, const MachineRates& rates) {
  const StepWork work = step_work(graph, plan, step);
  return std::max(work.flops / rates.flops, work.bytes / rates.memory);
}

}  // namespace robusta
