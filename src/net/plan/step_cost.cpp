#include "net/plan/step_cost.h"

#include <algorithm>

namespace robusta {
namespace {

double traffic(const Plan& plan, const Step& step) {
  size_t bytes = 0;
  for (const auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (const int value : *values) bytes += value >= 0 ? plan.values[static_cast<size_t>(value)].bytes : 0;
  }
  if (step.unit < 0) return static_cast<double>(bytes);
  const Unit& unit = plan.units[static_cast<size_t>(step.unit)];
  for (const Param* param : unit.params) bytes += step.reorder ? 0 : param->desc.bytes();
  return static_cast<double>(bytes);
}

double arithmetic(const Graph& graph, const Plan& plan, const Step& step) {
  if (step.kind != StepKind::kForward && step.kind != StepKind::kBackward) return 0;
  const Unit& unit = plan.units[static_cast<size_t>(step.unit)];
  if (step.kind == StepKind::kForward) return unit_flops(graph, unit);
  const bool bottoms = std::any_of(step.bottom_diffs.begin(), step.bottom_diffs.end(), [](int v) { return v >= 0; });
  const bool params = std::find(unit.param_grads.begin(), unit.param_grads.end(), true) != unit.param_grads.end();
  return unit_flops(graph, unit) * ((bottoms ? 1 : 0) + (params ? 1 : 0));
}

}  // namespace

double unit_flops(const Graph& graph, const Unit& unit) {
  double flops = 0;
  for (const int n : unit.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    std::vector<Shape> bottoms, tops;
    for (const int v : node.bottoms) bottoms.push_back(graph.versions[static_cast<size_t>(v)].shape);
    for (const int v : node.tops) tops.push_back(graph.versions[static_cast<size_t>(v)].shape);
    if (!node.source) flops += node.layer->forward_flops(bottoms, tops);
  }
  return flops;
}

double step_seconds(const Graph& graph, const Plan& plan, const Step& step, const MachineRates& rates) {
  return std::max(arithmetic(graph, plan, step) / rates.flops, traffic(plan, step) / rates.memory);
}

}  // namespace robusta
