// Which device a graph is made for, also where none is at hand.

#include "device/cuda/dnn/target.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "base/str.h"

namespace robusta::dnn {

void keep_compiler_loaded() {
  [[maybe_unused]] static void* const compiler =
      dlopen(str("libnvrtc.so.", CUDART_VERSION / 1000).c_str(), RTLD_LAZY | RTLD_LOCAL);
}

Target Target::described(const std::string& json) {
  keep_compiler_loaded();
  auto description = std::make_shared<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description->set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::vector<char>(json.begin(), json.end()));
  description->finalize();
  Target target;
  target.description_ = std::move(description);
  return target;
}

// The first releases of cuDNN 9 know handles only, so those are used wherever there is one.

void Target::hand_to_graph(Descriptor& graph) const {
  if (handle_) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_);
}

void Target::hand_to_heuristics(Descriptor& heuristics) const {
  if (!handle_) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *description_);
}

void Target::hand_to_plan(Descriptor& plan) const {
  if (handle_) return plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *description_);
}

}  // namespace robusta::dnn
