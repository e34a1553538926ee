// Passes of a public Net over some of its layers.

#include "api/net_impl.h"
#include "base/nearest.h"
#include "base/str.h"

namespace robusta::v1 {
namespace {

/// The layer of that name; `otherwise` without a name.
NodeId node_of(const Graph& graph, const std::string& name, NodeId otherwise) {
  if (name.empty()) return otherwise;
  std::vector<std::string> names;
  for (const NodeId n : graph.nodes.ids()) {
    names.push_back(graph.nodes[n].layer->name());
    if (names.back() == name) return n;
  }
  throw Error(ErrorKind::kUsage, str("the net has no layer \"", name, "\"", did_you_mean(name, names)));
}

void require_blobs(const robusta::Net& net) {
  if (net.options().keep_blobs) return;
  throw Error(ErrorKind::kUsage, "the net was built without keep_blobs: a part of its layers cannot run alone",
              "set NetOptions::keep_blobs");
}

}  // namespace

NodeRange Net::Impl::part(const LayerRange& range, bool backward) const {
  require_blobs(*net);
  const Graph& graph = net->graph();
  const NodeId first(0), last = graph.nodes.end_id() - 1;
  const NodeId start = node_of(graph, range.start, backward ? last : first);
  const NodeId end = node_of(graph, range.end, backward ? first : last);
  const NodeRange part = backward ? NodeRange{end, start} : NodeRange{start, end};
  if (part.first <= part.last || graph.nodes.empty()) return part;
  throw Error(ErrorKind::kUsage, str("layer \"", graph.nodes[end].layer->name(), "\" comes before \"",
                                     graph.nodes[start].layer->name(), "\" in ", backward ? "backward" : "forward"));
}

double Net::forward(const LayerRange& range) {
  const NodeRange part = impl_->part(range, false);
  const bool next = impl_->net->has_source(part);
  const Pass pass = next || impl_->pass.next_sample == 0 ? impl_->next_pass() : impl_->pass;
  const double loss = impl_->net->forward(pass, part);
  impl_->pass = pass;
  if (next) impl_->position = pass.next_sample;
  return loss;
}

void Net::backward(const LayerRange& range, bool add_to_gradients) {
  impl_->require_backward();
  impl_->net->backward(impl_->pass, impl_->part(range, true), add_to_gradients);
  impl_->net->stream().synchronize();
}

}  // namespace robusta::v1
