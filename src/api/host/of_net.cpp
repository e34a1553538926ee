// The code behind a layer of a net.

#include "api/host/host_layer.h"
#include "api/net_impl.h"

namespace robusta::v1 {

std::shared_ptr<HostLayer> host_layer(const Net& net, const std::string& layer) {
  for (const Node& node : Net::Impl::engine_of(net).graph().nodes) {
    if (node.layer->name() != layer) continue;
    const auto* with_code = dynamic_cast<const HasHostLayer*>(node.layer.get());
    return with_code ? with_code->own() : nullptr;
  }
  return nullptr;
}

}  // namespace robusta::v1
