// Backward: units in reverse, each with the gradients that its layers were found to want (graph/gradient_flow.h).
//
// Reverse-mode differentiation (Griewank and Walther 2008, "Evaluating Derivatives", chapter 3). After split insertion
// every version has one reader, so that gradients of versions are written once and never added up; only those of
// parameters that several layers share are.

#include <algorithm>
#include <map>
#include <set>

#include "layers/kit/gates_gradients.h"
#include "net/plan/plan_builder.h"

namespace robusta {
namespace {

/// Which values backward reads: the booking's word, or `otherwise` where it is silent.
bool reads(const std::vector<bool>& booked, size_t i, bool otherwise) {
  return booked.empty() ? otherwise : i < booked.size() && booked[i];
}

/// Every one of several tops is the bottom (book_branches).
bool repeats_bottom(const Booking& booking, size_t tops) {
  const auto repeats = [](const Alias& alias) { return alias.from == 0 && alias.same_content; };
  return tops > 1 && booking.forward_aliases.size() == tops &&
         std::all_of(booking.forward_aliases.begin(), booking.forward_aliases.end(), repeats);
}

}  // namespace

void PlanBuilder::add_backward() {
  for (const UnitId u : plan_.units.ids().reversed()) {
    const Unit& unit = plan_.units[u];
    if (graph_.nodes[unit.nodes[0]].backward && unit.kernel && wants_backward(unit)) add_unit_backward(u);
  }
}

bool PlanBuilder::wants_backward(const Unit& unit) const {
  const auto& learned = unit.param_grads;
  return std::any_of(unit.bottoms.begin(), unit.bottoms.end(), [](const UnitBottom& b) { return b.gradient; }) ||
         std::find(learned.begin(), learned.end(), true) != learned.end();
}

/// The values of forward, with what a later layer has left in a blob where that is what backward reads of it.
PlanBuilder::UnitValues PlanBuilder::backward_values(UnitId id) {
  const Unit& unit = plan_.units[id];
  const Booking& booking = unit.kernel->booking();
  const Node& node = graph_.nodes[unit.nodes.front()];
  UnitValues values = unit_values_[id];
  if (!node.overwritten_by) return values;
  const ValueId left = plan_.data[node.overwritten_by];
  const bool in_place = graph_.versions[node.bottoms[0]].name == graph_.versions[node.tops[0]].name;
  if (in_place && reads(booking.reads_bottoms, 0, true)) {
    values.bottoms[0] = in_form(left, bottom_form(unit, 0), id, true);
  }
  if (reads(booking.reads_tops, 0, false)) values.tops[0] = in_form(left, top_form(unit, 0), id, true);
  return values;
}

/// Whether somebody else than the kernels beside it may want to see the gradient of what a unit gives.
bool PlanBuilder::gradient_is_seen(const BlobVersion& blob) const {
  const auto& seeds = options_.seed_diffs;
  return options_.keep_blobs || blob.loss_weight != 0 ||
         (!blob.hidden_by_later && std::find(seeds.begin(), seeds.end(), blob.name) != seeds.end());
}

/// Whether the gradient of what a Split repeats, the sum of its tops' gradients, may be left to the kernel that reads
/// it: then that is told of the terms, and the Split has no step. Nobody else may want to see the sum.
bool PlanBuilder::hands_terms_on(UnitId branch) {
  const Unit& unit = plan_.units[branch];
  if (!repeats_bottom(unit.kernel->booking(), graph_.nodes[unit.nodes[0]].tops.size())) return false;
  const VersionId sum = unit.bottoms[0].version;
  const BlobVersion& blob = graph_.versions[sum];
  const Unit* const producer = producer_of(blob);
  if (!producer || gradient_is_seen(blob)) return false;
  const auto& tops = graph_.nodes[unit.nodes[0]].tops;
  if (static_cast<int>(tops.size()) > producer->kernel->booking().top_diff_terms || !wants_backward(*producer)) {
    return false;
  }
  std::vector<ValueId> terms;
  for (size_t t = 0; t < tops.size(); ++t) {
    terms.push_back(plan_.diff[tops[t]]);
    if (!terms.back()) return false;
    const TensorDesc& desc = plan_.values[terms.back()].desc;
    const Form wanted = top_form(*producer, 0);
    if (desc.dtype != wanted.type || !same_layout(desc.layout, wanted.layout)) return false;
  }
  terms_[sum] = std::move(terms);
  return true;
}

/// Leaves the mask of a ReLU to the unit that reads its result, where that will apply it (kit/gates_gradients.h).
void PlanBuilder::offer_gate(UnitId id) {
  const Unit& unit = plan_.units[id];
  auto* const reader = dynamic_cast<GatesGradients*>(unit.kernel.get());
  if (!reader || unit.bottoms.empty() || !unit.bottoms[0].gradient) return;
  const BlobVersion& blob = graph_.versions[unit.bottoms[0].version];
  const Unit* const producer = producer_of(blob);
  if (!producer || !wants_backward(*producer)) return;
  auto* const writer = dynamic_cast<GatesGradients*>(producer->kernel.get());
  if (!writer || !writer->takes_gated_top_diff() || gradient_is_seen(blob)) return;
  const Node &first = graph_.nodes[unit.nodes.front()], &last = graph_.nodes[producer->nodes.back()];
  if (first.overwritten_by || last.overwritten_by || blob.read_back || last.tops.size() != 1) return;
  const Form given = top_form(*producer, 0), read = bottom_form(unit, 0);
  if (given.type != read.type || !same_layout(given.layout, read.layout)) return;
  if (reader->gate_bottom_diff()) writer->take_gated_top_diff();
}

void PlanBuilder::add_unit_backward(UnitId id) {
  const Unit& unit = plan_.units[id];
  const Booking& booking = unit.kernel->booking();
  if (hands_terms_on(id)) return;
  offer_gate(id);
  const UnitValues values = backward_values(id);
  const Node &first = graph_.nodes[unit.nodes.front()], &last = graph_.nodes[unit.nodes.back()];
  std::vector<ValueId> top_diffs, bottom_diffs;
  if (const auto found = terms_.find(last.tops[0]); found != terms_.end()) {
    top_diffs = found->second;
  } else {
    for (size_t t = 0; t < last.tops.size(); ++t)
      top_diffs.push_back(top_gradient(last.tops[t], top_form(unit, t), id));
  }
  for (size_t b = 0; b < unit.bottoms.size(); ++b) {
    const UnitBottom& bottom = unit.bottoms[b];
    bottom_diffs.push_back(bottom.gradient ? add_gradient(bottom.version, values.bottoms[b]) : ValueId::none());
  }
  ValueId scratch;
  if (booking.backward_scratch > 0) scratch = new_raw("scratch of " + first.layer->name(), booking.backward_scratch);

  Step& step = push(StepKind::kBackward, id, true);
  step.top_diffs = std::move(top_diffs);
  step.bottom_diffs = std::move(bottom_diffs);
  step.saved = values.saved;
  step.scratch = scratch;
  for (size_t b = 0; b < values.bottoms.size(); ++b) {
    step.bottoms.push_back(reads(booking.reads_bottoms, b, true) ? values.bottoms[b] : ValueId::none());
  }
  for (size_t t = 0; t < values.tops.size(); ++t) {
    step.tops.push_back(reads(booking.reads_tops, t, false) ? values.tops[t] : ValueId::none());
  }
  touch_last_step();
}

/// The gradient of a version, stored as the value that the kernel reads of it.
ValueId PlanBuilder::add_gradient(VersionId version, ValueId data) {
  const std::string& blob = graph_.versions[version].name;
  const bool input = graph_.nodes[graph_.versions[version].producer].source != nullptr;
  const bool kept =
      (visible(version) && options_.keep_blobs) || (input && std::ranges::count(options_.input_diffs, blob) > 0);
  return plan_.diff[version] = new_value("gradient of " + blob, plan_.values[data].desc, kept);
}

ValueId PlanBuilder::top_gradient(VersionId version, const Form& form, UnitId unit) {
  const BlobVersion& blob = graph_.versions[version];
  const TensorDesc desc{blob.shape, form.type, nullptr};
  ValueId& diff = plan_.diff[version];
  const auto& seeds = options_.seed_diffs;
  // Where all blobs are kept, passes may begin with a gradient of any.
  const bool kept_output = options_.keep_blobs && !blob.consumer;
  const bool seeded =
      !blob.hidden_by_later && (kept_output || std::find(seeds.begin(), seeds.end(), blob.name) != seeds.end());
  if (!diff && (blob.loss_weight != 0 || seeded)) diff = constant("gradient of " + blob.name, desc, blob.loss_weight);
  if (diff) return in_form(diff, form, unit, true);
  if (plan_.units[unit].kernel->booking().takes_missing_top_diffs) return ValueId::none();
  return in_form(constant("zero gradient of " + blob.name, desc, 0), form, unit, true);
}

void PlanBuilder::mark_gradient_parts() {
  std::map<Param*, StepId> last;
  for (const StepId s : plan_.steps.ids()) {
    Step& step = plan_.steps[s];
    if (step.kind != StepKind::kBackward) continue;
    const Unit& unit = plan_.units[step.unit];
    step.first_part.assign(unit.params.size(), 0);
    for (size_t i = 0; i < unit.params.size(); ++i) {
      if (!unit.param_grads[i]) continue;
      step.first_part[i] = !last.contains(unit.params[i]);
      last[unit.params[i]] = s;
    }
  }
  for (const StepId s : plan_.steps.ids()) {
    if (plan_.steps[s].kind == StepKind::kBackward) complete_after(s, last);
  }
  const std::set<Param*> done(plan_.completion.begin(), plan_.completion.end());
  for (const ParamPtr& param : graph_.params) {
    if (!done.contains(param.get())) plan_.completion.push_back(param.get());
  }
}

/// Notes the parameters whose last contribution comes from this step.
void PlanBuilder::complete_after(StepId s, std::map<Param*, StepId>& last) {
  for (Param* param : plan_.units[plan_.steps[s].unit].params) {
    const auto found = last.find(param);
    if (found == last.end() || found->second != s) continue;
    plan_.steps[s].ready.push_back(param);
    plan_.completion.push_back(param);
    last.erase(found);
  }
}

}  // namespace robusta
