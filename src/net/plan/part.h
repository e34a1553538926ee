/// Which steps of a plan run a part of the net: the layers from one to another, in their order.
///
/// Steps of a part run in the order of the plan, so that values which share memory by their lifetimes do not meet in a
/// part either. Each value that they read is made within the part or is kept from earlier passes (Value::persistent);
/// nothing else is left of these. Copies of values in another form are made anew, so that what a program has written
/// into a blob reaches all its readers. What a part runs before a layer with a sizing bottom (Layer::sizing_bottom)
/// follows from the steps before it alone: it is the same where the rest is planned again.
///
/// REQUIRES: NetOptions::keep_blobs and share_memory, and no large model support.
#pragma once

#include <vector>

#include "net/graph/graph.h"
#include "net/plan/plan.h"

namespace robusta {

/// Layers, both ends included.
struct NodeRange {
  NodeId first, last;
  bool contains(NodeId node) const { return first <= node && node <= last; }
};

/// The step that runs a layer forward; of a chain, its first layer.
StepId forward_step(const Plan& plan, NodeId layer);

/// Throws Error{kUnsupported} where one kernel computes layers of the part and others, and where what the part reads,
/// or would leave in a blob that a later layer writes in place, has no memory that is kept.
std::vector<StepId> forward_steps(const Graph& graph, const Plan& plan, const NodeRange& part);
/// A blob that layers behind the part write in place has one gradient for programs, that of its last version, and in
/// the plan one for each. Backward of the part begins with the programs' where these layers have not run back since
/// they ran forward.
struct BegunGradient {
  ValueId from, to;  ///< of the last version, and of that which the part's layer makes
};
/// `ran_back`: of these units backward has run since their forward.
std::vector<BegunGradient> begun_gradients(const Graph& graph, const Plan& plan, const NodeRange& part,
                                           const IdVector<UnitId, bool>& ran_back);

/// The same of backward, which runs from part.last to part.first. `begun`: gradients that are there.
std::vector<StepId> backward_steps(const Graph& graph, const Plan& plan, const NodeRange& part,
                                   const std::vector<BegunGradient>& begun);

}  // namespace robusta
