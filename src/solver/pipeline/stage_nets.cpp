// Layer i of the definition is node i of the graph: the definition says what a stage is built of, the graph which
// shapes cross and whether gradients do.
#include "solver/pipeline/stage_nets.h"

#include <algorithm>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

[[noreturn]] void refuse(const Node& node, const std::string& cause) {
  throw Error(ErrorKind::kUnsupported, cause, "train this net on one GPU, or without the layer")
      .in_layer(node.layer->name())
      .at(node.where.where());
}

/// `trained`: a stage has a copy of its net for each micro-batch in flight.
void check_layer(const Node& node, bool trained) {
  const std::string& type = node.layer->type();
  if (trained && (type == "HDF5Output" || type == "MatWrite")) {
    refuse(node,
           "it writes a file of all passes in turn, and in a pipeline each micro-batch in flight has its own net");
  }
  if (!node.layer->carried().empty()) {
    refuse(node, "it carries states from one pass to the next, and in a pipeline several passes are under way at once");
  }
  if (node.layer->sizing_bottom() >= 0) {
    refuse(node, "its values change the size of blobs, and a pipeline sends blobs of one size");
  }
}

class Cutter {
 public:
  Cutter(const NetDef& net, const Graph& whole, const std::vector<int>& placement, int stages)
      : net_(net), whole_(whole), placement_(placement) {
    cut_.nets.resize(static_cast<size_t>(stages));
    cut_.inputs.resize(static_cast<size_t>(stages));
    cut_.outputs.resize(static_cast<size_t>(stages));
  }

  StageNets run() {
    for (NetDef& net : cut_.nets) begin(net);
    for (const NodeId n : whole_.nodes.ids()) add_inputs(n);
    for (const NodeId n : whole_.nodes.ids()) add_layer(n);
    for (const VersionId v : whole_.versions.ids()) add_output(v);
    return std::move(cut_);
  }

 private:
  int stage_of(NodeId node) const { return placement_[node.index()]; }
  NetDef& net_of(NodeId node) { return cut_.nets[static_cast<size_t>(stage_of(node))]; }

  void begin(NetDef& net) const {
    net.param = net_.param;
    net.param.clear_layer();
    // It adds gradients that nobody reads in a training.
    net.param.clear_force_backward();
    net.file = net_.file;
    net.fields = net_.fields;
  }

  void add_inputs(NodeId n) {
    const Node& node = whole_.nodes[n];
    check_layer(node, whole_.def.param.state().phase() == caffe::TRAIN);
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      const BlobVersion& blob = whole_.versions[node.bottoms[b]];
      if (stage_of(blob.producer) == stage_of(n)) continue;
      const Crossing crossing{
          .blob = blob.name,
          .shape = blob.shape,
          .from = stage_of(blob.producer),
          .to = stage_of(n),
          .gradient = node.backward && node.bottom_grads[b] && whole_.nodes[blob.producer].backward};
      add_input(crossing, node.where);
      cut_.crossings.push_back(crossing);
    }
  }

  void add_input(const Crossing& crossing, const LayerSource& reader) {
    const auto stage = static_cast<size_t>(crossing.to);
    NetDef& net = cut_.nets[stage];
    const std::string& name = cut_.inputs[stage].emplace_back(str(crossing.blob, " of device ", crossing.from));
    caffe::LayerParameter& input = *net.param.add_layer();
    input.set_name(name);
    input.set_type("Input");
    input.add_top(crossing.blob);
    caffe::BlobShape& shape = *input.mutable_input_param()->add_shape();
    for (const int64_t dim : crossing.shape.dims()) shape.add_dim(dim);
    net.sources.push_back(reader);
  }

  void add_layer(NodeId n) {
    const auto layer = static_cast<int>(n.index());
    *net_of(n).param.add_layer() = net_.param.layer(layer);
    net_of(n).sources.push_back(net_.source_of(layer));
  }

  void add_output(VersionId v) {
    const BlobVersion& blob = whole_.versions[v];
    if (blob.consumer || blob.name == kAutomaticTop) return;
    cut_.outputs[static_cast<size_t>(stage_of(blob.producer))].push_back(blob.name);
  }

  const NetDef& net_;
  const Graph& whole_;
  const std::vector<int>& placement_;
  StageNets cut_;
};

}  // namespace

StageNets cut_into_stages(const NetDef& net, const Graph& whole, const std::vector<int>& placement, int stages) {
  return Cutter(net, whole, placement, stages).run();
}

}  // namespace robusta
