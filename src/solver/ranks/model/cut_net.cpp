// Bytes that are sent follow from shapes alone. In a group of P, of x [N, I] and y [N, O] on each rank:
//
//   activations     (P - 1) (|x| + |y| / P) forward, as much backward, less |x| where no gradient of x is wanted;
//                   |x| / P in place of |x| where a part reads a slice of x alone (groups of channels)
//   gradients       2 (D - 1) / D of a part, D = ranks / P: a sum is a reduce-scatter and an all-gather
//   data parallel   2 (R - 1) / R of all parameters, R = ranks
#include "solver/ranks/model/cut_net.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/str.h"
#include "layers/kit/model_group.h"
#include "robusta/error.h"

namespace robusta {
namespace {

const Node& node_of(const Net& net, const std::string& layer) {
  const auto& nodes = net.graph().nodes;
  return *std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.layer->name() == layer; });
}

bool shares_params(const Net& net, const Node& cut) {
  for (const Node& other : net.graph().nodes) {
    for (const ParamPtr& param : cut.params) {
      if (&other != &cut && std::ranges::find(other.params, param) != other.params.end()) return true;
    }
  }
  return false;
}

}  // namespace

double bytes_of_sum(double bytes, int ranks) { return 2 * bytes * (ranks - 1) / ranks; }

void check_cut_training(const std::vector<ModelCut>& cuts, const DdlOptions& options, const Device& device) {
  if (cuts.empty()) return;
  const auto refuse = [&](ErrorKind kind, const std::string& cause, const std::string& fix) {
    throw Error(kind, cause, fix).in_layer(cuts[0].layer).at(cuts[0].where);
  };
  if (!device.is_host()) {
    refuse(ErrorKind::kUnsupported, "model_parts on a GPU: layers are cut among ranks on the host alone",
           "leave -gpu or model_parts out");
  }
  const char* const beside = options.shard != Shard::kNone       ? "-shard"
                             : has_local_steps(options)          ? "-sync_every"
                             : options.op == GradientOp::kAdasum ? "-op adasum"
                             : options.elastic.asked()           ? "-elastic"
                             : options.served.servers > 0        ? "-servers"
                             : options.wire.keeps_left()         ? "-compress int8 or topk"
                                                                 : nullptr;
  if (beside) {
    refuse(ErrorKind::kConfig,
           str("model_parts with -ddl \"", beside, "\": a rank has its own part of this layer alone"),
           str("leave ", beside, " or model_parts out"));
  }
}

std::optional<CutObjection> objection_in_net(const Net& net, const Node& node) {
  if (!node.bottoms.empty() && net.graph().versions[node.bottoms[0]].varies) {
    return CutObjection{
        "model_parts, and how many rows its bottom has follows from values, so ranks have batches of different size",
        "leave model_parts out of this layer"};
  }
  if (shares_params(net, node)) {
    return CutObjection{"model_parts, and another layer shares its parameters, of which a rank has a part alone",
                        "leave model_parts out of this layer, or give it parameters of its own"};
  }
  return std::nullopt;
}

void check_cut_net(const Net& net, const std::vector<ModelCut>& cuts) {
  for (const ModelCut& cut : cuts) {
    const auto objection = objection_in_net(net, node_of(net, cut.layer));
    if (!objection) continue;
    throw Error(ErrorKind::kConfig, objection->cause, objection->fix).in_layer(cut.layer).at(cut.where);
  }
}

CutTraffic traffic_of(const Net& net, const Node& node, int parts, int ranks) {
  const auto element = static_cast<double>(size_of(net.options().dtype));
  const auto bytes = [&](VersionId version) {
    return element * static_cast<double>(net.graph().versions[version].shape.count());
  };
  const bool whole_bottom = dynamic_cast<const CutByOutputs&>(*node.layer).parts_read_whole_bottom();
  const double x = bytes(node.bottoms[0]) / (whole_bottom ? 1 : parts), y = bytes(node.tops[0]) / parts;
  const bool back = node.backward, wants_x = back && node.bottom_grads[0];
  double parameters = 0;
  for (size_t i = 0; i < node.params.size(); ++i) {
    if (back && node.param_grads[i]) parameters += static_cast<double>(node.params[i]->desc.bytes());
  }
  return {.inputs = x,
          .outputs = y,
          .activations = (parts - 1) * (x + y + (back ? y : 0) + (wants_x ? x : 0)),
          .gradients = bytes_of_sum(parameters / parts, ranks / parts),
          .data_parallel = bytes_of_sum(parameters, ranks)};
}

CutTraffic traffic_of(const Net& net, const ModelCut& cut, int ranks) {
  return traffic_of(net, node_of(net, cut.layer), cut.parts, ranks);
}

std::vector<std::string> describe_cuts(const Net& net, const std::vector<ModelCut>& cuts, int ranks) {
  std::vector<std::string> lines;
  for (const ModelCut& cut : cuts) {
    const CutTraffic traffic = traffic_of(net, cut, ranks);
    const int64_t outputs = node_of(net, cut.layer).layer->num_output();
    lines.push_back(str("Model parallel: layer \"", cut.layer, "\" in ", cut.parts, " parts of ", outputs / cut.parts,
                        " outputs: a rank sends ", bytes_text(traffic.activations), " of activations in a pass and ",
                        bytes_text(traffic.gradients), " of gradients in an iteration, data parallel ",
                        bytes_text(traffic.data_parallel)));
  }
  return lines;
}

}  // namespace robusta
