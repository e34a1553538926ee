// Versions of blobs are in static single assignment, as the values of a GraphDef are: a chain of layers in place needs
// nothing of its own.

#include "solver/reports/tensorboard/graph_def.h"

#include <set>

#include "base/str.h"
#include "base/utf8.h"

namespace robusta {
namespace {

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Node& node : graph.nodes) {
    std::string name = as_utf8(node.layer->name().empty() ? node.layer->type() : node.layer->name());
    for (char& c : name) {
      if (c == ':' || c == '^') c = '_';
    }
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = str(name, '_', number);
    names.push_back(unique);
  }
  return names;
}

bool is_split(const Node& node) { return node.layer->type() == "Split"; }

/// What Split layers have only handed on.
const BlobVersion& origin_of(const Graph& graph, VersionId version) {
  const BlobVersion* now = &graph.versions[version];
  while (is_split(graph.nodes[now->producer])) now = &graph.versions[graph.nodes[now->producer].bottoms[0]];
  return *now;
}

tensorboard::AttrValue& add_attribute(tensorboard::NodeDef& node, const char* key) {
  tensorboard::NodeDef::Attr& added = *node.add_attr();
  added.set_key(key);
  return *added.mutable_value();
}

void add_shapes(const Graph& graph, const Node& node, tensorboard::NodeDef& out) {
  tensorboard::AttrValue& shapes = add_attribute(out, "_output_shapes");
  for (const VersionId top : node.tops) {
    tensorboard::TensorShapeProto* shape = shapes.mutable_list()->add_shape();
    for (const int64_t extent : graph.versions[top].shape.dims()) shape->add_dim()->set_size(extent);
  }
}

}  // namespace

tensorboard::GraphDef graph_def(const Graph& graph) {
  tensorboard::GraphDef out;
  const std::vector<std::string> names = node_names(graph);
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    if (is_split(node)) continue;
    tensorboard::NodeDef& added = *out.add_node();
    added.set_name(names[id.index()]);
    added.set_op(as_utf8(node.layer->type()));
    for (const VersionId bottom : node.bottoms) {
      const BlobVersion& origin = origin_of(graph, bottom);
      const std::string& from = names[origin.producer.index()];
      added.add_input(origin.top > 0 ? str(from, ':', origin.top) : from);
    }
    add_shapes(graph, node, added);
    int64_t parameters = 0;
    for (const ParamPtr& param : node.params) parameters += param->desc.count();
    if (parameters > 0) add_attribute(added, "parameters").set_i(parameters);
  }
  out.mutable_versions()->set_producer(22);  // a version whose rules hold for these nodes
  return out;
}

}  // namespace robusta
