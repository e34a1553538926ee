// The lines of Caffe's debug_info, in its order and with its words, for tools that read them.
#include "solver/reports/debug_info.h"

#include <cmath>

#include "base/log.h"
#include "solver/update/gradient_norm.h"

namespace robusta {
namespace {

const std::string& blob_name(const Net& net, VersionId version) { return net.graph().versions[version].name; }

void log_forward(Net& net, const Node& node) {
  for (const VersionId top : node.tops) {
    LOG_INFO << "    [Forward] Layer " << node.layer->name() << ", top blob " << blob_name(net, top)
             << " data: " << net.diagnostics().mean_abs(top, false);
  }
  for (const ParamPtr& param : node.params) {
    LOG_INFO << "    [Forward] Layer " << node.layer->name() << ", param blob " << param->display_name
             << " data: " << net.diagnostics().mean_abs(*param, false);
  }
}

void log_backward(Net& net, const Node& node) {
  for (size_t i = 0; i < node.bottoms.size(); ++i) {
    if (!node.bottom_grads[i]) continue;
    const double mean = net.diagnostics().mean_abs(node.bottoms[i], true);
    if (mean < 0) continue;  // it has no memory of its own: fused away
    LOG_INFO << "    [Backward] Layer " << node.layer->name() << ", bottom blob " << blob_name(net, node.bottoms[i])
             << " diff: " << mean;
  }
  for (size_t i = 0; i < node.params.size(); ++i) {
    if (!node.param_grads[i]) continue;
    LOG_INFO << "    [Backward] Layer " << node.layer->name() << ", param blob " << i
             << " diff: " << net.diagnostics().mean_abs(*node.params[i], true);
  }
}

Norms sum_of(const std::vector<Norms>& parts) {
  Norms sum;
  for (const Norms& part : parts) {
    sum.l1 += part.l1;
    sum.square_sum += part.square_sum;
  }
  return sum;
}

}  // namespace

void set_debug_info(Net& net, bool on) {
  if (!on) return net.diagnostics().set_layer_hook(nullptr);
  net.diagnostics().set_layer_hook(
      [&net](const Node& node, bool backward) { backward ? log_backward(net, node) : log_forward(net, node); });
}

void log_param_norms(Net& net) {
  std::vector<Tensor> values, gradients;
  for (const ParamPtr& param : net.params()) {
    values.push_back(param->tensor());
    gradients.push_back(param->gradient());
  }
  NormReader reader(*net.options().device, net.stream());
  const Norms data = sum_of(reader.read(values)), diff = sum_of(reader.read(gradients));
  LOG_ERROR << "    [Backward] All net params (data, diff): L1 norm = (" << data.l1 << ", " << diff.l1
            << "); L2 norm = (" << std::sqrt(data.square_sum) << ", " << std::sqrt(diff.square_sum) << ")";
}

}  // namespace robusta
