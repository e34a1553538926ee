// Forward: a step for every source, and for every unit with the reorders that its kernel wants before it.
//
// Units are made in the order of their first layers, so that a kernel is chosen when the layouts of its bottoms are
// known. What always holds: a value is written before it is read, and every step that uses a value lies within
// Value::first and Value::last.

#include "net/plan/plan_builder.h"

#include <algorithm>
#include <map>

#include "layers/kit/prepares_params.h"
#include "layers/kit/result_sums.h"
#include "net/plan/kernel_choice.h"
#include "ops/packed_params.h"

namespace robusta {
PlanBuilder::PlanBuilder(const Graph& graph, const NetOptions& options) : graph_(graph), options_(options) {
  plan_.data.resize(graph.versions.size());
  plan_.diff.resize(graph.versions.size());
}

void PlanBuilder::add_forward() {
  IdVector<NodeId, bool> done(graph_.nodes.size(), false);
  for (const NodeId n : graph_.nodes.ids()) {
    if (done[n]) continue;
    const Node& node = graph_.nodes[n];
    try {
      node.source ? add_source(n) : add_unit(n);
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
    for (const NodeId fused : plan_.units.back().nodes) done[fused] = true;
  }
  plan_.backward_begin = plan_.steps.end_id();
}

void PlanBuilder::add_source(NodeId node) {
  Unit& unit = plan_.units.emplace_back();
  unit.nodes = {node};
  unit.backend = "source";
  unit_values_.emplace_back();
  const Node& source = graph_.nodes[node];
  Step& step = push(StepKind::kSource, plan_.units.end_id() - 1, false);
  std::vector<ValueId> tops;
  for (const VersionId v : source.tops)
    tops.push_back(add_top(v, {nullptr, options_.dtype}, source.source->constant()));
  step.tops = tops;
  touch_last_step();
  step.lends = source.source->lends_batches() && options_.dtype == DType::kF32;
  if (options_.device->is_host()) return lend_tops(step);
  if (source.source->constant()) return;
  const ValueId upload = new_raw("upload of " + source.layer->name(), choose_upload(*source.source, step));
  plan_.values[upload].persistent = true;
  plan_.steps.back().scratch = upload;
  touch_last_step();
}

/// On the host the tops lie in the source's batch, unless one of them outlives it, or what is made of them may be made
/// again (keep_blobs).
void PlanBuilder::lend_tops(Step& step) {
  const auto kept = [this](ValueId top) { return plan_.values[top].persistent; };
  step.lends = step.lends && !options_.keep_blobs && std::ranges::none_of(step.tops, kept);
  for (const ValueId top : step.tops) plan_.values[top].lent = step.lends;
}

/// Pixels where the source has them and the device can take them. Returns how many bytes there are to upload.
size_t PlanBuilder::choose_upload(SourceLayer& source, Step& step) const {
  size_t bytes = 0;
  std::vector<Shape> shapes;
  for (const ValueId top : step.tops) {
    bytes += align_up(plan_.values[top].bytes);
    shapes.push_back(plan_.values[top].desc.shape);
  }
  if (!step.lends) return bytes;
  const PixelExpander expander = find_pixel_expander(options_.device->kernel_kind());
  std::optional<PixelForm> form = source.use_pixels(expander != nullptr);
  if (!form) return bytes;
  step.pixels = std::make_shared<PixelUpload>(*std::move(form), BatchLayout(std::move(shapes), true), expander);
  return step.pixels->total();
}

void PlanBuilder::add_unit(NodeId node) {
  const UnitId id = plan_.units.push_back(choose_kernel(graph_, options_, node, [this](VersionId version) {
    const ValueId value = plan_.data[version];
    return value ? &plan_.values[value].desc : nullptr;
  }));
  const Booking& booking = plan_.units[id].kernel->booking();
  if (booking.reads_position && !options_.device->is_host()) add_position();
  UnitValues values = add_operands(id);
  const ValueId sums = ask_for_sums(id, values);
  const ValueId scratch = add_forward_memory(id, values);
  for (const Alias& alias : booking.forward_aliases) {
    if (!alias.same_content) continue;
    const ValueId from = values.bottoms[static_cast<size_t>(alias.from)];
    content_[values.tops[static_cast<size_t>(alias.to)]] = content_[from];
  }
  Step& step = push(StepKind::kForward, id, false);
  step.bottoms = values.bottoms;
  step.tops = values.tops;
  step.saved = values.saved;
  step.scratch = scratch;
  unit_values_.push_back(std::move(values));
  finish_bottom(id);
  if (sums) plan_.steps.back().bottoms.push_back(sums);
  touch_last_step();
}

Unit* PlanBuilder::producer_of(const BlobVersion& blob) {
  const auto made =
      std::ranges::find_if(plan_.units, [&](const Unit& unit) { return unit.nodes.back() == blob.producer; });
  return made != plan_.units.end() && made->kernel ? &*made : nullptr;
}

/// What a kernel has left undone its reader does (Booking::finishes_bottom): the value between the two is never made.
void PlanBuilder::finish_bottom(UnitId id) {
  const int bottom = plan_.units[id].kernel->booking().finishes_bottom;
  if (bottom < 0 || !is_steady()) return;
  const VersionId version = plan_.units[id].bottoms[static_cast<size_t>(bottom)].version;
  const BlobVersion& blob = graph_.versions[version];
  const Unit* const made = producer_of(blob);
  if (!made || !made->kernel->booking().may_leave_top) return;
  if (blob.read_back || graph_.nodes[made->nodes[0]].overwritten_by) return;
  const UnitId maker(static_cast<size_t>(made - &*plan_.units.begin()));
  const ValueId top = plan_.data[version], from = unit_values_[maker].bottoms[0];
  const TensorDesc &given = plan_.values[from].desc, &wanted = plan_.values[top].desc;
  Step& reader = plan_.steps.back();
  if (reader.bottoms[static_cast<size_t>(bottom)] != top || plan_.values[top].persistent) return;
  if (given.dtype != wanted.dtype || !same_layout(given.layout, wanted.layout)) return;
  plan_.steps[forward_step(maker)].tops[0] = plan_.data[version] = ValueId::none();
  plan_.values[top].first = plan_.values[top].last = StepId::none();
  reader.bottoms[static_cast<size_t>(bottom)] = from;
  reader.bottoms.push_back(unit_values_[maker].saved);
}

/// REQUIRES: the unit has one.
StepId PlanBuilder::forward_step(UnitId unit) const {
  StepId step(0);
  while (plan_.steps[step].unit != unit || plan_.steps[step].kind != StepKind::kForward) ++step;
  return step;
}

/// Sums over bottom 0 of the unit, one more value that the kernel writes which makes it (kit/result_sums.h); none where
/// one of both kernels does not take part. Not where programs may change blobs, or stop, between the two.
ValueId PlanBuilder::ask_for_sums(UnitId id, const UnitValues& values) {
  auto* const reader = dynamic_cast<TakesResultSums*>(plan_.units[id].kernel.get());
  if (!reader || !reader->wants_result_sums() || options_.keep_blobs || !graph_.sizers.empty()) return {};
  const VersionId version = plan_.units[id].bottoms[0].version;
  const BlobVersion& blob = graph_.versions[version];
  Unit* const made = producer_of(blob);
  auto* const writer = made ? dynamic_cast<SumsResults*>(made->kernel.get()) : nullptr;
  if (!writer || plan_.data[version] != values.bottoms[0] || !writer->sum_results()) return {};
  reader->take_result_sums();
  const StepId step = forward_step(UnitId(static_cast<size_t>(made - &*plan_.units.begin())));
  const ValueId sums = new_raw("sums of " + blob.name, 2 * static_cast<size_t>(blob.shape[1]) * sizeof(float));
  plan_.steps[step].tops.push_back(sums);
  touch(sums, step);
  book_scratch_again(step);
  return sums;
}

/// What the kernel of a forward step has come to want of it.
void PlanBuilder::book_scratch_again(StepId s) {
  Step& step = plan_.steps[s];
  const Unit& unit = plan_.units[step.unit];
  const size_t bytes = unit.kernel->booking().forward_scratch;
  if (step.scratch) plan_.values[step.scratch].first = plan_.values[step.scratch].last = StepId::none();
  step.scratch = ValueId::none();
  if (bytes == 0) return;
  step.scratch = new_raw("scratch of " + graph_.nodes[unit.nodes[0]].layer->name(), bytes);
  touch(step.scratch, s);
}

/// The bottoms as the unit's kernel wants them, and its tops.
PlanBuilder::UnitValues PlanBuilder::add_operands(UnitId id) {
  const Unit& unit = plan_.units[id];
  const Node& last = graph_.nodes[unit.nodes.back()];
  UnitValues values;
  for (size_t b = 0; b < unit.bottoms.size(); ++b) {
    values.bottoms.push_back(in_form(plan_.data[unit.bottoms[b].version], bottom_form(unit, b), id, false));
  }
  for (size_t t = 0; t < last.tops.size(); ++t) {
    values.tops.push_back(add_top(last.tops[t], top_form(unit, t), false));
  }
  return values;
}

/// What the kernel keeps for backward, and its scratch, which is returned. Kernels of inference may still book saved
/// state that nobody will read: it then lives for this step only.
ValueId PlanBuilder::add_forward_memory(UnitId id, UnitValues& values) {
  const Unit& unit = plan_.units[id];
  const Booking& booking = unit.kernel->booking();
  const Node& first = graph_.nodes[unit.nodes.front()];
  const auto raw = [&](const char* what, size_t bytes) {
    return bytes > 0 ? new_raw(what + first.layer->name(), bytes) : ValueId::none();
  };
  const bool backward = options_.backward && first.backward;
  if (backward) values.saved = raw("saved of ", booking.saved_bytes);
  const ValueId scratch = raw("scratch of ", booking.forward_scratch);
  if (!backward) values.saved = raw("saved of ", booking.saved_bytes);
  // What is made of parameters alone is kept from pass to pass, but where memory is short.
  const bool keeps = preparing(unit.kernel.get()) && options_.lms.mode == LmsOptions::Mode::kOff;
  if (keeps) plan_.values[values.saved].persistent = true;
  return scratch;
}

/// Not where memory is short, where programs may change parameters, or look at gradients, in the midst of a pass, or
/// where one is planned again in its midst: kernels then make their copies themselves.
bool PlanBuilder::packs_together() const { return is_steady() && find_param_packer(options_.device->kernel_kind()); }

/// A pass is run as a whole, by this plan, with all its values where they are.
bool PlanBuilder::is_steady() const {
  return !options_.keep_blobs && options_.lms.mode == LmsOptions::Mode::kOff && graph_.sizers.empty();
}

void PlanBuilder::add_packed_params() {
  if (!packs_together()) return;
  size_t bytes = 0;
  for (const UnitId u : plan_.units.ids()) {
    const Unit& unit = plan_.units[u];
    if (!unit.kernel) continue;
    for (const PackedParam& form : unit.kernel->booking().packed) {
      plan_.packed.push_back({u, unit.params[static_cast<size_t>(form.param)], form, bytes});
      bytes += align_up(form.bytes());
    }
  }
  if (bytes == 0) return;
  plan_.packed_memory = new_raw("packed parameters", bytes);
  plan_.values.back().persistent = true;
  touch(plan_.packed_memory, StepId(0));
}

/// Those of parameters that get their gradient from one step alone: parts that several steps add up would have to be
/// kept one beside the other.
void PlanBuilder::add_packed_gradients() {
  if (!packs_together()) return;
  std::map<const Param*, int> readers;
  for (const Unit& unit : plan_.units) {
    for (const Param* param : unit.params) ++readers[param];
  }
  const StepId last = plan_.steps.end_id() - 1;
  for (const StepId s : plan_.steps.ids()) {
    if (plan_.steps[s].kind != StepKind::kBackward) continue;
    const Unit& unit = plan_.units[plan_.steps[s].unit];
    const auto& forms = unit.kernel->booking().packed_gradients;
    const auto alone = [&](const PackedParam& form) {
      return readers[unit.params[static_cast<size_t>(form.param)]] == 1;
    };
    if (!std::ranges::all_of(forms, alone)) continue;
    for (const PackedParam& form : forms) {
      Param* const param = unit.params[static_cast<size_t>(form.param)];
      const ValueId memory = new_raw("packed gradient of " + param->layer, form.bytes());
      touch(memory, s);
      touch(memory, last);
      plan_.packed_gradients.push_back({s, param, form, memory});
    }
  }
}

void PlanBuilder::add_position() {
  if (plan_.position) return;
  plan_.position = new_raw("position of the pass", sizeof(Pass::first_sample));
  plan_.values.back().persistent = true;
  touch(plan_.position, plan_.steps.end_id());
}

}  // namespace robusta
