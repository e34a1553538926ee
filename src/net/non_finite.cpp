// Parameters first: once one of them is infinite or NaN, all that it touches is.

#include "net/non_finite.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"

namespace robusta {
namespace {

bool finite(const std::vector<float>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

NonFinite in_params(Net& net) {
  for (const Node& node : net.graph().nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (!finite(net.blobs().read_param(*node.params[i]))) return {node.layer->name(), str("parameter ", i)};
    }
  }
  return {};
}

/// In the results of a step.
NonFinite in_tops(Net& net, const Step& step) {
  if (step.kind != StepKind::kSource && step.kind != StepKind::kForward) return {};
  const Plan& plan = net.plan();
  for (const ValueId top : step.tops) {
    if (!top || finite(net.diagnostics().read_value(top))) continue;
    const NodeId node = plan.units[step.unit].nodes.back();
    return {net.graph().nodes[node].layer->name(), "top \"" + plan.values[top].label + "\""};
  }
  return {};
}

/// A hook that goes with its scope, also when the pass throws.
struct HookedSteps {
  HookedSteps(Net& net, Diagnostics::StepHook hook) : net(net) { net.diagnostics().set_step_hook(std::move(hook)); }
  ~HookedSteps() { net.diagnostics().set_step_hook(nullptr); }
  Net& net;
};

}  // namespace

NonFinite find_non_finite(Net& net, const Pass& pass) {
  NonFinite found = in_params(net);
  if (!found.layer.empty()) return found;
  const HookedSteps hooked(net, [&](StepId s) {
    if (found.layer.empty()) found = in_tops(net, net.plan().steps[s]);
  });
  net.forward(pass);
  return found;
}

}  // namespace robusta
