#include "net/report.h"

#include <algorithm>
#include <iomanip>

#include "base/bytes.h"
#include "base/str.h"
#include "net/peak.h"
#include "net/step_cost.h"

namespace robusta {
namespace {

std::string unit_name(const Graph& graph, const Unit& unit) {
  std::string name;
  for (int n : unit.nodes) name += (name.empty() ? "" : " + ") + graph.nodes[static_cast<size_t>(n)].layer->name();
  return name;
}

void print_unit(std::ostream& out, const Net& net, size_t u) {
  const Graph& graph = net.graph();
  const Plan& plan = net.plan();
  const Unit& unit = plan.units[u];
  out << unit_name(graph, unit) << "\n";
  size_t saved = 0;
  for (const Step& step : plan.steps) {
    if (step.unit != static_cast<int>(u) || step.kind == StepKind::kBackward) continue;
    if (step.kind == StepKind::kReorder) {
      const Value& from = plan.values[static_cast<size_t>(step.bottoms[0])];
      const Value& to = plan.values[static_cast<size_t>(step.tops[0])];
      out << "    reorder " << from.label << ": " << layout_name(from.desc.layout) << " -> "
          << layout_name(to.desc.layout) << " (" << bytes_text(to.bytes) << ")\n";
      continue;
    }
    for (int top : step.tops) {
      const Value& value = plan.values[static_cast<size_t>(top)];
      out << "    top " << value.label << ": " << value.desc.shape.str() << ", " << layout_name(value.desc.layout)
          << ", " << bytes_text(value.bytes)
          << (value.storage != top ? ", in the memory of " + plan.values[static_cast<size_t>(value.storage)].label : "")
          << "\n";
    }
    if (step.saved >= 0) saved = plan.values[static_cast<size_t>(step.saved)].bytes;
  }
  const double flops = unit_flops(graph, unit);
  out << "    kernel " << (unit.kernel ? unit.kernel->describe() : "source");
  if (flops > 0) out << ", " << std::setprecision(4) << flops / 1e9 << " GFLOP forward";
  if (saved > 0) out << ", saves " << bytes_text(saved) << " for backward";
  size_t params = 0;
  for (const Param* param : unit.params) params += param->desc.bytes();
  if (params > 0) out << ", parameters " << bytes_text(params);
  out << "\n";
  for (const Declined& declined : unit.declined) {
    out << "    declined: " << declined.backend << " for " << declined.pattern << ": " << declined.reason << "\n";
  }
}

/// The step at which most memory is alive, and the values alive then, largest first.
void print_peak(std::ostream& out, const Plan& plan) {
  const Peak peak = peak_of(plan);
  if (peak.step < 0) return;
  out << "Largest values alive at the peak (step " << peak.step << " of " << plan.steps.size() << "):\n";
  for (size_t i = 0; i < std::min<size_t>(peak.values.size(), 5); ++i) {
    const Value& value = plan.values[static_cast<size_t>(peak.values[i])];
    out << "    " << std::setw(10) << bytes_text(value.bytes) << "  " << value.label << "\n";
  }
}

}  // namespace

MemoryUse memory_use(const Net& net, int history_per_param) {
  MemoryUse use;
  use.activations = net.plan().arena_bytes + net.plan().persistent_bytes;
  for (const ParamPtr& param : net.params()) use.params += align_up(param->desc.bytes());
  if (net.options().backward) {
    use.gradients = use.params;
    use.history = use.params * static_cast<size_t>(history_per_param);
  }
  use.unshared = net.plan().unshared_bytes + use.params + use.gradients + use.history;
  return use;
}

void print_plan(std::ostream& out, const Net& net, int history_per_param) {
  const Graph& graph = net.graph();
  out << "Plan of " << net.name() << " for a batch of " << net.batch() << ":\n";
  double flops = 0;
  for (size_t u = 0; u < net.plan().units.size(); ++u) {
    print_unit(out, net, u);
    flops += unit_flops(graph, net.plan().units[u]);
  }
  print_peak(out, net.plan());
  const MemoryUse use = memory_use(net, history_per_param);
  out << "FLOPs of one forward pass: " << std::setprecision(4) << flops / 1e9 << " GFLOP ("
      << flops / 1e9 / static_cast<double>(net.batch()) << " per sample)\n"
      << "Memory: activations and scratch " << bytes_text(use.activations) << ", parameters " << bytes_text(use.params)
      << ", gradients " << bytes_text(use.gradients) << ", history " << bytes_text(use.history) << "\n"
      << "Peak: " << bytes_text(use.total()) << " (" << std::fixed << std::setprecision(1)
      << 100.0 * static_cast<double>(use.total()) / static_cast<double>(use.unshared) << " % of "
      << bytes_text(use.unshared) << " without sharing)\n"
      << std::defaultfloat;
}

int64_t largest_batch(size_t bytes, const std::function<size_t(int64_t)>& plan_batch) {
  if (plan_batch(1) > bytes) return 0;
  int64_t fits = 1, limit = 2;
  while (limit <= (int64_t{1} << 20) && plan_batch(limit) <= bytes) fits = limit, limit *= 2;
  while (limit - fits > 1) {
    const int64_t middle = fits + (limit - fits) / 2;
    (plan_batch(middle) <= bytes ? fits : limit) = middle;
  }
  return fits;
}

}  // namespace robusta
