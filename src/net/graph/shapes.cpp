// Shapes follow from those of the sources, layer by layer in their order.

#include "net/graph/shapes.h"

namespace robusta {

std::vector<Shape> bottom_shapes(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (const VersionId v : node.bottoms) shapes.push_back(graph.versions[v].shape);
  return shapes;
}

void infer_shapes(Graph& graph) {
  for (Node& node : graph.nodes) {
    try {
      const std::vector<Shape> tops = node.layer->infer_tops(bottom_shapes(graph, node));
      for (size_t t = 0; t < tops.size(); ++t) {
        check_extents(tops[t]);
        graph.versions[node.tops[t]].shape = tops[t];
      }
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
}

VersionShapes shapes_of(const Graph& graph) {
  VersionShapes shapes;
  for (const BlobVersion& version : graph.versions) shapes.push_back(version.shape);
  return shapes;
}

void restore_shapes(Graph& graph, const VersionShapes& shapes) {
  for (const VersionId v : shapes.ids()) graph.versions[v].shape = shapes[v];
  for (const Node& node : graph.nodes) {
    if (!node.source) node.layer->infer_tops(bottom_shapes(graph, node));
  }
}

}  // namespace robusta
