// The part's own steps are chosen first; a sweep from the last to the first then adds the copies that they read.

#include "net/plan/part.h"

#include <algorithm>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// The step that writes each value; none: it is there from the beginning.
IdVector<ValueId, StepId> makers_of(const Plan& plan) {
  IdVector<ValueId, StepId> makers(plan.values.size());
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    const bool back = step.kind == StepKind::kBackward;
    for (const ValueId value : back ? step.bottom_diffs : step.tops) {
      if (value) makers[value] = s;
    }
    // What is saved is forward's; backward only reads it.
    if (step.saved && !back) makers[step.saved] = s;
  }
  return makers;
}

/// Numbers that are there for every pass, whatever layers in place on them have made of their blob.
bool stays_apart(const Graph& graph, const BlobVersion& version) {
  const SourceLayer* source = graph.nodes[version.producer].source;
  return source && source->constant();
}

class Selection {
 public:
  Selection(const Graph& graph, const Plan& plan, const NodeRange& part, bool backward,
            const std::vector<BegunGradient>& begun)
      : graph_(graph),
        plan_(plan),
        part_(part),
        backward_(backward),
        makers_(makers_of(plan)),
        chosen_(plan.steps.size(), false),
        begun_(begun) {
    for (const NodeId sizer : graph.sizers) {
      if (part.contains(sizer)) sizers_.push_back(forward_step(plan, sizer));
    }
  }

  std::vector<StepId> steps() {
    for (const StepId s : plan_.steps.ids()) {
      const Step& step = plan_.steps[s];
      chosen_[s] = step.in_backward == backward_ && lies_inside(plan_.units[step.unit]);
    }
    if (!backward_) check_blobs_in_place();
    std::vector<StepId> steps;
    for (const StepId s : plan_.steps.ids().reversed()) {
      if (!chosen_[s]) continue;
      find_operands(s);
      if (!backward_ && plan_.steps[s].reorder) check_memory_of_copy(s);
      steps.push_back(s);
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  const std::string& name_of(NodeId node) const { return graph_.nodes[node].layer->name(); }

  bool lies_inside(const Unit& unit) const {
    const auto inside = std::ranges::count_if(unit.nodes, [&](NodeId node) { return part_.contains(node); });
    if (inside == 0 || inside == std::ssize(unit.nodes)) return inside != 0;
    std::string names;
    for (const NodeId node : unit.nodes) names += str(names.empty() ? "\"" : ", \"", name_of(node), "\"");
    throw Error(ErrorKind::kUnsupported, "one kernel computes the layers " + names + ", and the part has some of them",
                "take all of them, or build the net with fuse = false");
  }

  void find_operands(StepId s) {
    const Step& step = plan_.steps[s];
    for (const ValueId value : step.bottoms) find(value, s);
    if (step.kind != StepKind::kBackward) return;
    for (const auto* values : {&step.tops, &step.top_diffs}) {
      for (const ValueId value : *values) find(value, s);
    }
    find(step.saved, s);
  }

  /// A copy in another layout is made again, if what it is made from is kept; all else that the part reads has to be
  /// kept.
  void find(ValueId value, StepId reader) {
    const StepId maker = value ? makers_[value] : StepId::none();
    if (!maker || chosen_[maker]) return;
    if (std::ranges::count(begun_, value, &BegunGradient::to) > 0) return;
    const Step& step = plan_.steps[maker];
    const bool remade = step.reorder && step.in_backward == backward_;
    if (remade && !sizer_between(maker, reader)) {
      chosen_[maker] = true;
    } else if (remade || !plan_.values[value].persistent) {
      throw Error(ErrorKind::kUnsupported,
                  str("it reads ", plan_.values[value].label, " as layer \"", name_of(plan_.units[step.unit].nodes[0]),
                      "\" leaves it, which is not kept"),
                  "take that layer into the part")
          .in_layer(name_of(plan_.units[plan_.steps[reader].unit].nodes[0]));
    }
  }

  bool sizer_between(StepId maker, StepId reader) const {
    return std::ranges::any_of(sizers_, [&](StepId sizer) { return maker < sizer && sizer <= reader; });
  }

  /// Layers that write a blob in place are like others where all its versions lie in one memory: the blob is then what
  /// the last of these layers that ran has left. Else no part may end between them.
  void check_blobs_in_place() const {
    for (NodeId n = part_.first; n <= part_.last; ++n) {
      for (const VersionId top : graph_.nodes[n].tops) {
        const BlobVersion& version = graph_.versions[top];
        if (version.hidden_by_later && !part_.contains(version.consumer)) check_place(top, version.consumer);
      }
      for (const VersionId bottom : graph_.nodes[n].bottoms) {
        const BlobVersion& version = graph_.versions[bottom];
        if (version.hidden_by_later && !part_.contains(version.producer)) check_place(bottom, n);
      }
    }
  }

  void check_place(VersionId earlier, NodeId writer) const {
    const BlobVersion& blob = graph_.versions[earlier];
    if (stays_apart(graph_, blob)) return;
    const ValueId a = plan_.data[earlier], b = plan_.data[graph_.find(blob.name)];
    const Value &before = plan_.values[a], &after = plan_.values[b];
    const bool alike = before.desc.dtype == after.desc.dtype && same_layout(before.desc.layout, after.desc.layout);
    if (before.storage == after.storage && alike) return;
    throw Error(ErrorKind::kUnsupported,
                str("it writes blob \"", blob.name, "\" in place, and what layer \"", name_of(blob.producer),
                    "\" leaves there is not kept: no part can end between the two"),
                "take both into the part, or give the top another name")
        .in_layer(name_of(writer));
  }

  /// The last reader of a copy may have written its top over it: a blob, or what backward needs, would be lost.
  void check_memory_of_copy(StepId s) const {
    const ValueId copy = plan_.steps[s].tops[0];
    for (const VersionId v : graph_.versions.ids()) {
      const ValueId value = plan_.data[v];
      if (!value || plan_.values[value].storage != plan_.values[copy].storage) continue;
      if (!plan_.values[value].persistent || chosen_[makers_[value]]) continue;
      throw Error(ErrorKind::kUnsupported,
                  str("it reads a copy of ", plan_.values[plan_.steps[s].bottoms[0]].label, " in whose memory blob \"",
                      graph_.versions[v].name, "\" lies now"),
                  str("take layer \"", name_of(graph_.versions[v].producer), "\" into the part"))
          .in_layer(name_of(plan_.units[plan_.steps[s].unit].nodes[0]));
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const NodeRange part_;
  const bool backward_;
  const IdVector<ValueId, StepId> makers_;  // who writes a value
  IdVector<StepId, bool> chosen_;           // of the part, or a copy that it needs
  const std::vector<BegunGradient>& begun_;
  std::vector<StepId> sizers_;  ///< of layers of the part that decide over sizes
};

UnitId unit_of(const Plan& plan, NodeId node) {
  for (const UnitId unit : plan.units.ids()) {
    if (std::ranges::count(plan.units[unit].nodes, node) > 0) return unit;
  }
  return UnitId::none();
}

bool has_run(const IdVector<UnitId, bool>& ran, UnitId unit) { return unit && ran.contains(unit) && ran[unit]; }

}  // namespace

std::vector<BegunGradient> begun_gradients(const Graph& graph, const Plan& plan, const NodeRange& part,
                                           const IdVector<UnitId, bool>& ran_back) {
  std::vector<BegunGradient> begun;
  for (NodeId n = part.first; n <= part.last; ++n) {
    for (const VersionId top : graph.nodes[n].tops) {
      const BlobVersion& version = graph.versions[top];
      if (!version.hidden_by_later || part.contains(version.consumer)) continue;
      if (has_run(ran_back, unit_of(plan, version.consumer))) continue;
      const ValueId from = plan.diff[graph.find(version.name)], to = plan.diff[top];
      if (from && to && plan.values[from].persistent && from != to) begun.push_back({from, to});
    }
  }
  return begun;
}

StepId forward_step(const Plan& plan, NodeId layer) {
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    if (step.kind == StepKind::kForward && plan.units[step.unit].nodes[0] == layer) return s;
  }
  return StepId::none();
}

std::vector<StepId> forward_steps(const Graph& graph, const Plan& plan, const NodeRange& part) {
  return Selection(graph, plan, part, false, {}).steps();
}

std::vector<StepId> backward_steps(const Graph& graph, const Plan& plan, const NodeRange& part,
                                   const std::vector<BegunGradient>& begun) {
  return Selection(graph, plan, part, true, begun).steps();
}

}  // namespace robusta
