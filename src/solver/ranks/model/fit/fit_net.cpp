// Computing is foretold by a roofline (Williams, Waterman and Patterson 2009): arithmetic is the same in any number of
// parts, but a part reads, writes and updates a share of the weights alone.
#include "solver/ranks/model/fit/fit_net.h"

#include <algorithm>

#include "layers/kit/planned_group.h"
#include "robusta/error.h"
#include "solver/ranks/model/cut_net.h"

namespace robusta {
namespace {

class NetSizes {
 public:
  NetSizes(const Net& net, int ranks, const MachineRates& rates) : net_(net), ranks_(ranks), rates_(rates) {}

  /// `parts` 1: whole.
  FitOption option(const Node& node, int parts) const {
    FitOption option{.parts = parts};
    const bool trains = node.backward;
    const double weights = bytes_of(node, false), learned = trains ? bytes_of(node, true) : 0;
    double x = bytes_of(node.bottoms), y = bytes_of(node.tops), copied = 0;
    if (parts > 1) {
      const CutTraffic traffic = traffic_of(net_, node, parts, ranks_);
      option.x = traffic.inputs;
      option.y = traffic.outputs;
      option.back = trains;
      option.wants_x = trains && node.bottom_grads[0];
      option.gradients = parts < ranks_ ? learned / parts : 0;
      option.sent_in_pass = traffic.activations;
      option.sent_in_sum = traffic.gradients;
      x = traffic.inputs * parts;
      copied = 2 * (x + y);
    } else {
      option.gradients = learned;
      option.sent_in_sum = bytes_of_sum(learned, ranks_);
    }
    const double pass = std::max(flops(node) / rates_.flops, (x + y + weights / parts) / rates_.memory);
    const int products = (learned > 0 ? 1 : 0) + (wants_bottoms(node) ? 1 : 0);
    option.forward = pass + copied / rates_.memory;
    option.backward = trains ? products * pass + copied / rates_.memory : 0;
    option.update = kTouches * learned / parts / rates_.memory;
    return option;
  }

 private:
  /// Weights, gradients and a history are read, two of them are written.
  static constexpr double kTouches = 5;

  static bool wants_bottoms(const Node& node) {
    return node.backward && std::ranges::count(node.bottom_grads, true) > 0;
  }

  double bytes_of(const std::vector<VersionId>& versions) const {
    double count = 0;
    for (const VersionId v : versions) count += static_cast<double>(net_.graph().versions[v].shape.count());
    return count * static_cast<double>(size_of(net_.options().dtype));
  }
  /// Of the parameters that are the node's own, all of them or those that learn.
  static double bytes_of(const Node& node, bool learning) {
    double bytes = 0;
    for (size_t i = 0; i < node.params.size(); ++i) {
      const Param& param = *node.params[i];
      if (param.layer != node.layer->name() || (learning && !node.param_grads[i])) continue;
      bytes += static_cast<double>(param.desc.bytes());
    }
    return bytes;
  }
  double flops(const Node& node) const {
    if (node.source) return 0;
    const auto shapes = [&](const std::vector<VersionId>& versions) {
      std::vector<Shape> shapes;
      for (const VersionId v : versions) shapes.push_back(net_.graph().versions[v].shape);
      return shapes;
    };
    return node.layer->forward_flops(shapes(node.bottoms), shapes(node.tops));
  }

  const Net& net_;
  const int ranks_;
  const MachineRates& rates_;
};

/// Whether the layer's own fields allow it.
bool fields_allow(const caffe::LayerParameter& param, int parts) {
  if (!objection_to_cut(param, parts).empty()) return false;
  PlannedGroup group(parts);
  try {
    const std::unique_ptr<Layer> layer = make_layer(param);
    dynamic_cast<CutByOutputs&>(*layer).cut(group);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

FitProblem fit_problem(const Net& net, const std::vector<ModelCut>& asked, const std::vector<int>& settled, int ranks,
                       const MachineSpeeds& speeds, int passes) {
  FitProblem problem{.layers = {}, .links = speeds.links, .passes = passes};
  const NetSizes sizes(net, ranks, speeds.rates);
  int index = 0;
  for (const Node& node : net.graph().nodes) {
    const auto cut = std::ranges::find(asked, node.layer->name(), &ModelCut::layer);
    FitLayer layer{node.layer->name(), {sizes.option(node, cut == asked.end() ? 1 : cut->parts)}};
    const bool fixed = std::ranges::count(settled, index++) > 0 || objection_in_net(net, node);
    for (int parts = 2; !fixed && parts <= ranks; ++parts) {
      if (ranks % parts == 0 && fields_allow(node.layer->param(), parts))
        layer.options.push_back(sizes.option(node, parts));
    }
    problem.layers.push_back(std::move(layer));
  }
  return problem;
}

}  // namespace robusta
