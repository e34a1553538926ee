// Prints a plan. Nothing is computed here that planning does not know; FLOPs are the layers' own counts.

#include "net/report.h"

#include <algorithm>
#include <iomanip>

#include "base/bytes.h"
#include "base/counted.h"
#include "base/str.h"
#include "net/plan/peak.h"
#include "net/plan/step_cost.h"
#include "net/planner/budget.h"
#include "net/run/gradient_layout.h"

namespace robusta {
namespace {

std::string unit_name(const Graph& graph, const Unit& unit) {
  std::string name;
  for (const NodeId n : unit.nodes) name += (name.empty() ? "" : " + ") + graph.nodes[n].layer->name();
  return name;
}

std::string step_name(const Graph& graph, const Plan& plan, StepId s) {
  const Step& step = plan.steps[s];
  return str(s, " (", unit_name(graph, plan.units[step.unit]), step.in_backward ? ", backward)" : ")");
}

/// The first step after `s` that uses what it brings back.
StepId first_use(const Plan& plan, StepId s) {
  const ValueId wanted = plan.steps[s].tops[0];
  for (StepId next = s + 1; next < plan.steps.end_id(); ++next) {
    bool uses = false;
    for_values(plan.steps[next], [&](ValueId value) { uses = uses || plan.values[value].storage == wanted; });
    if (uses) return next;
  }
  return s;
}

/// Lines for what large model support does with a unit's values.
void print_moves(std::ostream& out, const Graph& graph, const Plan& plan, StepId s) {
  const Step& step = plan.steps[s];
  const bool leaves = step.kind == StepKind::kOffload;
  const Value& value = plan.values[leaves ? step.bottoms[0] : step.tops[0]];
  out << "    "
      << (leaves                             ? "offload "
          : step.kind == StepKind::kPrefetch ? "prefetch "
                                             : "repeat for ")
      << value.label << " (" << bytes_text(value.bytes) << ")";
  if (leaves) {
    out << " after step " << step_name(graph, plan, step.waits.empty() ? StepId(0) : step.waits[0]);
  } else {
    out << " before step " << s + 1 << ", for step " << step_name(graph, plan, first_use(plan, s));
  }
  out << "\n";
}

void print_reorder(std::ostream& out, const Plan& plan, const Step& step) {
  const Value& from = plan.values[step.bottoms[0]];
  const Value& to = plan.values[step.tops[0]];
  const bool converts = from.desc.dtype != to.desc.dtype;
  const auto form = [=](const TensorDesc& desc) {
    return (converts ? std::string(name_of(desc.dtype)) + " " : "") + layout_name(desc.layout);
  };
  out << "    reorder " << from.label << ": " << form(from.desc) << " -> " << form(to.desc) << " ("
      << bytes_text(to.bytes) << ")\n";
}

void print_tops(std::ostream& out, const Plan& plan, const Step& step) {
  for (const ValueId top : step.tops) {
    if (!top) {
      out << "    top left to the kernel that reads it\n";
      continue;
    }
    const Value& value = plan.values[top];
    if (value.raw) {
      out << "    " << value.label << ": " << bytes_text(value.bytes) << "\n";
      continue;
    }
    const std::string type = is_16_bit(value.desc.dtype) ? std::string(", ") + name_of(value.desc.dtype) : "";
    out << "    top " << value.label << ": " << value.desc.shape.str() << ", " << layout_name(value.desc.layout) << type
        << ", " << bytes_text(value.bytes)
        << (value.storage != top ? ", in the memory of " + plan.values[value.storage].label : "") << "\n";
  }
}

void print_unit(std::ostream& out, const Net& net, UnitId u) {
  const Graph& graph = net.graph();
  const Plan& plan = net.plan();
  const Unit& unit = plan.units[u];
  out << unit_name(graph, unit) << "\n";
  size_t saved = 0;
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    if (step.unit != u || step.kind == StepKind::kBackward) continue;
    if (is_copy(step.kind) || step.kind == StepKind::kRepeat) {
      print_moves(out, graph, plan, s);
    } else if (step.kind == StepKind::kReorder) {
      print_reorder(out, plan, step);
    } else {
      print_tops(out, plan, step);
      if (step.saved) saved = plan.values[step.saved].bytes;
    }
  }
  const double flops = unit_flops(graph, unit);
  out << "    kernel " << (unit.kernel ? unit.kernel->describe() : "source");
  if (flops > 0) out << ", " << std::setprecision(4) << flops / 1e9 << " GFLOP forward";
  if (saved > 0) out << ", saves " << bytes_text(saved) << " for backward";
  size_t params = 0;
  for (const Param* param : unit.params) params += param->desc.bytes();
  if (params > 0) out << ", parameters " << bytes_text(params);
  const size_t kept = unit.kernel ? unit.kernel->booking().kept_bytes : 0;
  if (kept > 0) out << ", kept in another form: " << bytes_text(kept);
  out << "\n";
  for (const Declined& declined : unit.declined) {
    out << "    declined: " << declined.backend << " for " << declined.pattern << ": " << declined.reason << "\n";
  }
}

/// The step at which most memory is alive, and the values alive then, largest first.
void print_peak(std::ostream& out, const Plan& plan) {
  const Peak peak = peak_of(plan);
  if (!peak.step) return;
  out << "Largest values alive at the peak (step " << peak.step << " of " << plan.steps.size() << "):\n";
  for (size_t i = 0; i < std::min<size_t>(peak.values.size(), 5); ++i) {
    const Value& value = plan.values[peak.values[i]];
    out << "    " << std::setw(10) << bytes_text(value.bytes) << "  " << value.label << "\n";
  }
}

/// As many numbers as parameters, and stored alike; where they share memory, that, and what each rank keeps of them.
size_t gradient_bytes(const Net& net, const UpdateArrays& update, size_t params) {
  if (!net.options().gradient_buckets) return params;
  const Plan& plan = net.plan();
  const UpdateArrays own{.per_parameter = 1, .ranks = update.ranks};
  return lay_out_gradients(plan.completion, completed_by(plan), plan, net.options()).bytes + own.bytes(params);
}

}  // namespace

MemoryUse memory_use(const Net& net, const UpdateArrays& update) {
  MemoryUse use;
  const size_t carried = carried_bytes(net.graph(), net.options());
  use.activations = net.plan().arena_bytes + net.plan().persistent_bytes + carried;
  for (const Value& value : net.plan().values) use.activations += value.lent ? align_up(value.bytes) : 0;
  const ParamBytes params = param_bytes(net.graph(), net.options());
  use.params = params.values;
  use.kernels = kernel_bytes(net.plan());
  if (net.options().backward) {
    use.gradients = gradient_bytes(net, update, params.updated);
    use.history = update.bytes(params.updated);
  }
  use.unshared = net.plan().unshared_bytes + carried + use.params + use.kernels + use.gradients + use.history;
  return use;
}

std::string describe_offloading(const Plan& plan) {
  const Offloading& o = plan.offloading;
  if (o.moved + o.repeated == 0) return "all values stay: what a pass keeps takes " + bytes_text(plan.arena_bytes);
  const double cost = o.exposed_seconds + o.repeat_seconds;
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << counted(o.moved, "value") << " to the host and back, " << o.repeated
      << " computed again: " << bytes_text(o.bytes_out) << " out and " << bytes_text(o.bytes_in)
      << " in per pass; what a pass keeps takes " << bytes_text(plan.arena_bytes) << " instead of "
      << bytes_text(o.resident_arena_bytes) << "; predicted to take " << 1e3 * cost << " ms longer ("
      << 100 * cost / o.step_seconds << " %)";
  return out.str();
}

void print_plan(std::ostream& out, const Net& net, const UpdateArrays& update) {
  const Graph& graph = net.graph();
  out << "Plan of " << net.name() << " for a batch of " << net.batch() << ":\n";
  double flops = 0;
  for (const UnitId u : net.plan().units.ids()) {
    print_unit(out, net, u);
    flops += unit_flops(graph, net.plan().units[u]);
  }
  print_peak(out, net.plan());
  if (net.plan().offloading.planned) out << "Large model support: " << describe_offloading(net.plan()) << "\n";
  const MemoryUse use = memory_use(net, update);
  out << "FLOPs of one forward pass: " << std::setprecision(4) << flops / 1e9 << " GFLOP ("
      << flops / 1e9 / static_cast<double>(net.batch()) << " per sample)\n"
      << "Memory: activations and scratch " << bytes_text(use.activations) << ", parameters " << bytes_text(use.params)
      << (use.kernels > 0 ? ", kept for kernels " + bytes_text(use.kernels) : "") << ", gradients "
      << bytes_text(use.gradients) << ", history " << bytes_text(use.history)
      << (update.ranks > 1 ? str(", a share of ", update.ranks) : "") << "\n"
      << "Peak: " << bytes_text(use.total()) << " (" << std::fixed << std::setprecision(1)
      << 100.0 * static_cast<double>(use.total()) / static_cast<double>(use.unshared) << " % of "
      << bytes_text(use.unshared) << " without sharing)\n"
      << std::defaultfloat;
}

}  // namespace robusta
