#include "net/report.h"

#include <algorithm>
#include <iomanip>
#include <map>

#include "base/str.h"

namespace robusta {
namespace {

std::string human(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 3) bytes /= 1024, ++unit;
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << bytes << " " << units[unit];
  return out.str();
}

double unit_flops(const Graph& graph, const Unit& unit) {
  double flops = 0;
  for (int n : unit.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    std::vector<Shape> bottoms, tops;
    for (int v : node.bottoms) bottoms.push_back(graph.versions[static_cast<size_t>(v)].shape);
    for (int v : node.tops) tops.push_back(graph.versions[static_cast<size_t>(v)].shape);
    if (!node.source) flops += node.layer->forward_flops(bottoms, tops);
  }
  return flops;
}

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
          << layout_name(to.desc.layout) << " (" << human(static_cast<double>(to.bytes)) << ")\n";
      continue;
    }
    for (int top : step.tops) {
      const Value& value = plan.values[static_cast<size_t>(top)];
      out << "    top " << value.label << ": " << value.desc.shape.str() << ", " << layout_name(value.desc.layout)
          << ", " << human(static_cast<double>(value.bytes))
          << (value.storage != top ? ", in the memory of " + plan.values[static_cast<size_t>(value.storage)].label : "")
          << "\n";
    }
    if (step.saved >= 0) saved = plan.values[static_cast<size_t>(step.saved)].bytes;
  }
  const double flops = unit_flops(graph, unit);
  out << "    kernel " << (unit.kernel ? unit.kernel->describe() : "source");
  if (flops > 0) out << ", " << std::setprecision(4) << flops / 1e9 << " GFLOP forward";
  if (saved > 0) out << ", saves " << human(static_cast<double>(saved)) << " for backward";
  size_t params = 0;
  for (const Param* param : unit.params) params += param->desc.bytes();
  if (params > 0) out << ", parameters " << human(static_cast<double>(params));
  out << "\n";
  for (const Declined& declined : unit.declined) {
    out << "    declined: " << declined.backend << " for " << declined.pattern << ": " << declined.reason << "\n";
  }
}

/// The step at which most memory is alive, and the values alive then, largest first.
void print_peak(std::ostream& out, const Plan& plan) {
  std::vector<size_t> alive(plan.steps.size(), 0);
  std::map<int, std::pair<int, int>> lives;  // storage -> first and last step
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const Value& value = plan.values[v];
    if (value.first < 0) continue;
    auto [life, fresh] = lives.try_emplace(value.storage, value.first, value.last);
    if (!fresh) {
      life->second = {std::min(life->second.first, value.first), std::max(life->second.second, value.last)};
    }
  }
  for (const auto& [storage, life] : lives) {
    for (int s = life.first; s <= life.second; ++s) {
      alive[static_cast<size_t>(s)] += plan.values[static_cast<size_t>(storage)].bytes;
    }
  }
  if (alive.empty()) return;
  const int peak = static_cast<int>(std::max_element(alive.begin(), alive.end()) - alive.begin());
  std::vector<int> there;
  for (const auto& [storage, life] : lives) {
    if (life.first <= peak && peak <= life.second) there.push_back(storage);
  }
  std::sort(there.begin(), there.end(), [&](int a, int b) {
    return plan.values[static_cast<size_t>(a)].bytes > plan.values[static_cast<size_t>(b)].bytes;
  });
  out << "Largest values alive at the peak (step " << peak << " of " << plan.steps.size() << "):\n";
  for (size_t i = 0; i < std::min<size_t>(there.size(), 5); ++i) {
    const Value& value = plan.values[static_cast<size_t>(there[i])];
    out << "    " << std::setw(10) << human(static_cast<double>(value.bytes)) << "  " << value.label << "\n";
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
      << "Memory: activations and scratch " << human(static_cast<double>(use.activations)) << ", parameters "
      << human(static_cast<double>(use.params)) << ", gradients " << human(static_cast<double>(use.gradients))
      << ", history " << human(static_cast<double>(use.history)) << "\n"
      << "Peak: " << human(static_cast<double>(use.total())) << " (" << std::fixed << std::setprecision(1)
      << 100.0 * static_cast<double>(use.total()) / static_cast<double>(use.unshared) << " % of "
      << human(static_cast<double>(use.unshared)) << " without sharing)\n"
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
