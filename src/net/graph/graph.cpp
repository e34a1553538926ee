// Looking things up in a graph.

#include "net/graph/graph.h"

#include <algorithm>

namespace robusta {

void rethrow_at(Error error, const std::string& layer, const LayerSource& where) {
  error.in_layer(layer);
  error.at(where.where(error.field()));
  throw error;
}

VersionId Graph::find(const std::string& blob) const {
  for (const VersionId v : versions.ids().reversed()) {
    if (versions[v].name == blob) return v;
  }
  return VersionId::none();
}

std::vector<VersionId> Graph::inputs() const {
  std::vector<VersionId> found;
  for (const Node& node : nodes) {
    if (node.source && node.source->is_input()) found.insert(found.end(), node.tops.begin(), node.tops.end());
  }
  return found;
}

VersionId Graph::find_input(const std::string& blob) const {
  for (const VersionId input : inputs()) {
    if (versions[input].name == blob) return input;
  }
  return VersionId::none();
}

int64_t Graph::batch() const {
  for (const Node& node : nodes) {
    if (!node.source || node.tops.empty()) continue;
    const Shape& shape = versions[node.tops[0]].shape;
    return shape.axes() > 0 ? std::max<int64_t>(shape[0], 1) : 1;
  }
  return 1;
}

std::vector<ParamPtr> Graph::layer_params(const std::string& layer) const {
  for (const Node& node : nodes) {
    if (node.layer->name() == layer) return node.params;
  }
  return {};
}

}  // namespace robusta
