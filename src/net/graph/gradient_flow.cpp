// Two sweeps over the layers, as reachability asks for: upward from what learns, or inputs whose gradient is wanted,
// downward from the losses and from gradients that the caller writes. A layer
// takes part in backward where both arrive. `propagate_down` cuts edges, `force_backward` takes all of them.

#include "net/graph/gradient_flow.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "net/graph/learning.h"

namespace robusta {
namespace {

using VersionFlags = IdVector<VersionId, bool>;

class Flow {
 public:
  Flow(Graph& graph, const NetOptions& options)
      : graph_(graph),
        options_(options),
        wanted_(graph.versions.size(), false),
        forced_(graph.def.param.force_backward()) {}

  /// From the inputs up: who has something below (or in itself) that wants a gradient.
  void mark_upward(Node& node) {
    const auto& param = node.layer->param();
    if (param.propagate_down_size() != 0 && param.propagate_down_size() != param.bottom_size()) {
      throw Error(ErrorKind::kConfig,
                  str(param.propagate_down_size(), " propagate_down values for ", param.bottom_size(), " bottoms"),
                  "give one per bottom or none")
          .in_field("propagate_down");
    }
    node.bottom_grads.assign(node.bottoms.size(), false);
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      const bool below = wanted_[node.bottoms[b]];
      node.backward = node.backward || below;
      node.bottom_grads[b] = param.propagate_down_size() > 0 ? param.propagate_down(static_cast<int>(b)) : below;
    }
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (!node.param_grads[i]) continue;  // statistics never learn
      node.param_grads[i] = forced_ || node.params[i]->lr_mult != 0;
      node.backward = node.backward || node.params[i]->lr_mult != 0;
    }
    if (forced_) force(node);
    for (const VersionId top : node.tops) wanted_[top] = node.backward || (node.source && is_wanted_input(top));
  }

  /// From the losses down: who reaches none, or only through blocked bottoms, stays out.
  void mark_downward(VersionFlags& under_loss, VersionFlags& blocked, Node& node) {
    bool contributes = false, all_blocked = true;
    for (const VersionId top : node.tops) {
      contributes = contributes || under_loss[top] || begins_gradient(top);
      all_blocked = all_blocked && blocked[top];
    }
    if (node.backward && all_blocked) {
      node.backward = false;
      node.bottom_grads.assign(node.bottoms.size(), false);
    }
    if (!contributes) node.backward = false;
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      const VersionId bottom = node.bottoms[b];
      if (contributes) under_loss[bottom] = true;
      if (!contributes) node.bottom_grads[b] = false;
      if (!node.bottom_grads[b]) blocked[bottom] = true;
    }
  }

  /// force_backward asks nothing of a layer without a backward pass that no gradient can reach (an Accuracy beside the
  /// loss): it is only run forward. `reached`: the versions on the way from a loss, or from a gradient that the caller
  /// writes.
  void leave_out(VersionFlags& reached, Node& node) const {
    bool gradient = false;
    for (const VersionId v : node.tops) gradient = gradient || reached[v] || begins_gradient(v);
    for (const VersionId v : node.bottoms) reached[v] = reached[v] || gradient;
    if (gradient || node.layer->has_backward()) return;
    node.backward = false;
    node.bottom_grads.assign(node.bottoms.size(), false);
  }

  bool forced() const { return forced_; }

 private:
  bool begins_gradient(VersionId v) const {
    const BlobVersion& version = graph_.versions[v];
    return version.loss_weight != 0 || std::ranges::count(options_.seed_diffs, version.name) > 0;
  }

  bool is_wanted_input(VersionId v) const {
    return std::ranges::count(options_.input_diffs, graph_.versions[v].name) > 0;
  }

  void force(Node& node) {
    node.backward = true;
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      if (node.layer->allows_gradient(static_cast<int>(b))) node.bottom_grads[b] = true;
    }
  }

  Graph& graph_;
  const NetOptions& options_;
  VersionFlags wanted_;
  bool forced_;
};

void require_backward(const Node& node) {
  const bool asked = std::find(node.bottom_grads.begin(), node.bottom_grads.end(), true) != node.bottom_grads.end();
  if (!node.backward || !asked || node.layer->has_backward()) return;
  throw Error(ErrorKind::kConfig, "layers of type " + node.layer->type() + " have no backward pass",
              "set propagate_down: false, or leave out force_backward");
}

}  // namespace

void mark_gradients(Graph& graph, const NetOptions& options) {
  Flow flow(graph, options);
  for (Node& node : graph.nodes) {
    try {
      flow.mark_upward(node);
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
  VersionFlags under_loss(graph.versions.size(), false), blocked(graph.versions.size(), false);
  for (const NodeId n : graph.nodes.ids().reversed()) {
    Node& node = graph.nodes[n];
    try {
      flow.forced() ? flow.leave_out(under_loss, node) : flow.mark_downward(under_loss, blocked, node);
      LOG_INFO << node.layer->name() << (node.backward ? " needs" : " does not need") << " backward computation.";
      if (!node.backward) node.param_grads.assign(node.params.size(), false);
      if (options.backward) require_backward(node);
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
  mark_learning(graph, options.backward);
}

}  // namespace robusta
