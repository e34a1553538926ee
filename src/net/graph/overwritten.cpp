// In Caffe the versions of a blob share one memory, so that backward reads the last of them (BVLC's
// src/caffe/layers/relu_layer.cpp and its like). Here each version has values of its own, and reading another one has
// to be asked for.

#include "net/graph/overwritten.h"

#include <algorithm>

#include "base/log.h"
#include "layers/kit/in_place.h"

namespace robusta {
namespace {

/// Whether backward of the layer reads the blob of its top, in Caffe.
bool reads_its_blob(const Graph& graph, const Node& node, const BackwardRead& read) {
  return read.top || graph.versions[node.bottoms[0]].name == graph.versions[node.tops[0]].name;
}

Content left_by(const Layer& layer) {
  const auto* leaves = dynamic_cast<const LeavesContent*>(&layer);
  return leaves ? leaves->leaves() : Content::kNothing;
}

/// The first layer that works in place behind `version` and leaves less of its blob than is needed; null: none does.
const Node* first_to_change(const Graph& graph, VersionId version, Content needed) {
  for (VersionId at = version; graph.versions[at].hidden_by_later;) {
    const Node& writer = graph.nodes[graph.versions[at].consumer];
    if (left_by(*writer.layer) < needed) return &writer;
    at = writer.tops[static_cast<size_t>(graph.versions[at].bottom)];
  }
  return nullptr;
}

void warn(const Graph& graph, const Node& reader, const Node& writer) {
  const auto named = [](const Node& node) {
    return "layer \"" + node.layer->name() + "\" (" + node.layer->type() + ")";
  };
  const std::string& blob = graph.versions[reader.tops[0]].name;
  LOG_WARNING << reader.where.where() << ": the gradient of " << named(reader)
              << " is no derivative, as in Caffe: its backward pass reads blob \"" << blob << "\", where "
              << named(writer) << ", " << writer.where.where()
              << ", in place, leaves other values. For the derivative give the latter a top of its own";
}

}  // namespace

void mark_overwritten(Graph& graph) {
  for (Node& node : graph.nodes) {
    const auto* reader = dynamic_cast<const ReadsItsBlob*>(node.layer.get());
    if (!reader || !node.backward || !node.bottom_grads[0]) continue;
    const BackwardRead read = reader->backward_read();
    if (!reads_its_blob(graph, node, read)) continue;
    const Node* writer = first_to_change(graph, node.tops[0], read.needs);
    const VersionId last = graph.find(graph.versions[node.tops[0]].name);
    if (!writer || graph.versions[last].shape != graph.versions[node.tops[0]].shape) continue;
    node.overwritten_by = last;
    graph.versions[last].read_back = true;
    warn(graph, node, *writer);
  }
}

}  // namespace robusta
