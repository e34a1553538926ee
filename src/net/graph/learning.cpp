// Kernels are chosen for the gradients that their layer wants (Node::param_grads) and look at Param::learns when they
// run: what always holds is that the two agree in every net that runs backward.

#include "net/graph/learning.h"

#include <set>

#include "base/str.h"

namespace robusta {
namespace {

using ParamSet = std::set<const Param*>;

ParamSet lent_params(const Graph& graph) {
  ParamSet lent;
  for (const ParamId p : graph.params.ids()) {
    if (!graph.filled_here[p]) lent.insert(graph.params[p].get());
  }
  return lent;
}

/// One that has a rate and does not learn takes no part in the lender's backward: it may begin to learn. `wanted`: by a
/// layer of this net.
void agree_with_lender(Param& param, bool wanted) {
  if (wanted && !param.diff) {
    throw Error(ErrorKind::kUsage,
                str("parameter ", param.index, " is shared, and the net that lends it has no gradients"),
                "build that net with backward, or this one without");
  }
  if (wanted && param.lr_mult != 0) param.learns = true;
  if (wanted == param.learns) return;
  throw Error(ErrorKind::kUsage,
              str("parameter ", param.index, " is shared, and ", wanted ? "does not learn" : "learns",
                  " in the net that lends it"),
              "give both nets the same force_backward");
}

void agree_with_lender(const Node& node, const ParamSet& lent) {
  for (size_t i = 0; i < node.params.size(); ++i) {
    Param& param = *node.params[i];
    if (lent.contains(&param) && !param.statistic) agree_with_lender(param, node.param_grads[i]);
  }
}

}  // namespace

void mark_learning(Graph& graph, bool backward) {
  const ParamSet lent = lent_params(graph);
  for (const ParamPtr& param : graph.params) {
    if (!lent.contains(param.get())) param->learns = false;
  }
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (node.param_grads[i] && !lent.contains(node.params[i].get())) node.params[i]->learns = true;
    }
    if (!backward || !node.backward) continue;
    try {
      agree_with_lender(node, lent);
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
}

}  // namespace robusta
