#include "net/plan/plan_builder.h"

#include <algorithm>
#include <map>

#include "net/plan/kernel_choice.h"

namespace robusta {
namespace {

Layout layout_at(const std::vector<Layout>& layouts, size_t i) { return i < layouts.size() ? layouts[i] : nullptr; }

DType type_at(const std::vector<DType>& types, size_t i, DType otherwise) {
  return i < types.size() ? types[i] : otherwise;
}

/// Which values backward reads: the booking's word, or `otherwise` where it is silent.
bool reads(const std::vector<bool>& booked, size_t i, bool otherwise) {
  return booked.empty() ? otherwise : i < booked.size() && booked[i];
}

}  // namespace

PlanBuilder::PlanBuilder(const Graph& graph, const NetOptions& options) : graph_(graph), options_(options) {
  plan_.data.resize(graph.versions.size());
  plan_.diff.resize(graph.versions.size());
}

PlanBuilder::Form PlanBuilder::bottom_form(const Unit& unit, size_t bottom) {
  const Booking& booking = unit.kernel->booking();
  return {layout_at(booking.bottom_layouts, bottom), type_at(booking.bottom_types, bottom, unit.storage)};
}

PlanBuilder::Form PlanBuilder::top_form(const Unit& unit, size_t top) {
  const Booking& booking = unit.kernel->booking();
  return {layout_at(booking.top_layouts, top), type_at(booking.top_types, top, unit.storage)};
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
  touch(tops, plan_.steps.end_id() - 1);
  step.tops = tops;
  if (source.source->constant() || options_.device->is_host()) return;
  const ValueId upload = new_raw("upload of " + source.layer->name(), choose_upload(*source.source, step));
  plan_.values[upload].persistent = true;
  touch(upload, plan_.steps.end_id() - 1);
  plan_.steps.back().scratch = upload;
}

/// Pixels where the source has them and the device can take them. Returns how many bytes there are to upload.
size_t PlanBuilder::choose_upload(SourceLayer& source, Step& step) const {
  size_t others = 0;
  for (const ValueId top : step.tops) others += align_up(plan_.values[top].bytes);
  const size_t all = others;
  const Value& first = plan_.values[step.tops[0]];
  others -= align_up(first.bytes);
  const PixelExpander expander = find_pixel_expander(options_.device->kernel_kind());
  std::optional<PixelForm> form = source.use_pixels(expander && first.desc.dtype == DType::kF32);
  if (!form) return all;
  step.pixels = std::make_shared<PixelUpload>(*std::move(form), first.desc.shape, others, expander);
  return step.pixels->total();
}

void PlanBuilder::add_unit(NodeId node) {
  const Node& first = graph_.nodes[node];
  std::vector<TensorDesc> descs;
  for (const VersionId v : first.bottoms) descs.push_back(plan_.values[plan_.data[v]].desc);
  plan_.units.push_back(choose_kernel(graph_, options_, node, descs));
  const UnitId index = plan_.units.end_id() - 1;
  const Unit& unit = plan_.units.back();
  const Booking& booking = unit.kernel->booking();
  if (booking.reads_position && !options_.device->is_host()) add_position();
  UnitValues values;
  for (size_t b = 0; b < first.bottoms.size(); ++b) {
    const ValueId value = plan_.data[first.bottoms[b]];
    values.bottoms.push_back(in_form(value, bottom_form(unit, b), index, false));
  }
  const Node& last = graph_.nodes[unit.nodes.back()];
  for (size_t t = 0; t < last.tops.size(); ++t) {
    values.tops.push_back(add_top(last.tops[t], top_form(unit, t), false));
  }
  const std::string& name = first.layer->name();
  const bool backward = options_.backward && first.backward;
  if (backward && booking.saved_bytes > 0) values.saved = new_raw("saved of " + name, booking.saved_bytes);
  ValueId scratch;
  if (booking.forward_scratch > 0) scratch = new_raw("scratch of " + name, booking.forward_scratch);
  // Inference kernels may still book saved state that nobody will read: it then lives for this step only.
  if (!backward && booking.saved_bytes > 0) values.saved = new_raw("saved of " + name, booking.saved_bytes);

  for (const Alias& alias : booking.forward_aliases) {
    if (!alias.same_content) continue;
    const ValueId to = values.tops[alias.to];
    content_[to] = content_[values.bottoms[alias.from]];
  }
  Step& step = push(StepKind::kForward, index, false);
  const StepId at = plan_.steps.end_id() - 1;
  step.bottoms = values.bottoms;
  step.tops = values.tops;
  step.saved = values.saved;
  step.scratch = scratch;
  touch(values.bottoms, at);
  touch(values.tops, at);
  touch(values.saved, at);
  touch(scratch, at);
  unit_values_.push_back(std::move(values));
}

void PlanBuilder::add_position() {
  if (plan_.position) return;
  plan_.position = new_raw("position of the pass", sizeof(Pass::first_sample));
  plan_.values.back().persistent = true;
  touch(plan_.position, plan_.steps.end_id());
}

void PlanBuilder::add_backward() {
  for (const UnitId u : plan_.units.ids().reversed()) {
    const Node& node = graph_.nodes[plan_.units[u].nodes[0]];
    if (node.backward && plan_.units[u].kernel) add_unit_backward(u);
  }
}

void PlanBuilder::add_unit_backward(UnitId index) {
  const Unit& unit = plan_.units[index];
  const Booking& booking = unit.kernel->booking();
  const UnitValues values = unit_values_[index];
  const Node& first = graph_.nodes[unit.nodes.front()];
  const Node& last = graph_.nodes[unit.nodes.back()];
  const auto wanted = [](const std::vector<bool>& v) { return std::find(v.begin(), v.end(), true) != v.end(); };
  if (!wanted(first.bottom_grads) && !wanted(unit.param_grads)) return;

  std::vector<ValueId> top_diffs, bottom_diffs;
  for (size_t t = 0; t < last.tops.size(); ++t) {
    top_diffs.push_back(top_gradient(last.tops[t], top_form(unit, t), index));
  }
  for (size_t b = 0; b < first.bottoms.size(); ++b) {
    if (!first.bottom_grads[b]) {
      bottom_diffs.push_back(ValueId::none());
      continue;
    }
    const VersionId version = first.bottoms[b];
    const TensorDesc& data = plan_.values[values.bottoms[b]].desc;
    const auto& name = graph_.versions[version].name;
    bottom_diffs.push_back(new_value("gradient of " + name, data, visible(version) && options_.keep_blobs));
    plan_.diff[version] = bottom_diffs.back();
  }
  ValueId scratch;
  if (booking.backward_scratch > 0) scratch = new_raw("scratch of " + first.layer->name(), booking.backward_scratch);

  Step& step = push(StepKind::kBackward, index, true);
  const StepId at = plan_.steps.end_id() - 1;
  step.top_diffs = top_diffs;
  step.bottom_diffs = bottom_diffs;
  step.saved = values.saved;
  step.scratch = scratch;
  for (size_t b = 0; b < values.bottoms.size(); ++b) {
    step.bottoms.push_back(reads(booking.reads_bottoms, b, true) ? values.bottoms[b] : ValueId::none());
  }
  for (size_t t = 0; t < values.tops.size(); ++t) {
    step.tops.push_back(reads(booking.reads_tops, t, false) ? values.tops[t] : ValueId::none());
  }
  touch(step.bottoms, at);
  touch(step.tops, at);
  touch(top_diffs, at);
  touch(bottom_diffs, at);
  touch(step.saved, at);
  touch(scratch, at);
}

ValueId PlanBuilder::top_gradient(VersionId version, const Form& form, UnitId unit) {
  const BlobVersion& blob = graph_.versions[version];
  const TensorDesc desc{blob.shape, form.type, nullptr};
  ValueId& diff = plan_.diff[version];
  const auto& seeds = options_.seed_diffs;
  const bool seeded = !blob.hidden_by_later && std::find(seeds.begin(), seeds.end(), blob.name) != seeds.end();
  if (!diff && (blob.loss_weight != 0 || seeded)) diff = constant("gradient of " + blob.name, desc, blob.loss_weight);
  if (diff) return in_form(diff, form, unit, true);
  if (plan_.units[unit].kernel->booking().takes_missing_top_diffs) return ValueId::none();
  return in_form(constant("zero gradient of " + blob.name, desc, 0), form, unit, true);
}

ValueId PlanBuilder::constant(std::string label, const TensorDesc& desc, float content) {
  const ValueId value = new_value(std::move(label), desc, true);
  plan_.constants.emplace_back(value, content);
  return value;
}

ValueId PlanBuilder::in_form(ValueId value, const Form& form, UnitId unit, bool backward) {
  const TensorDesc from = plan_.values[value].desc;
  if (same_layout(from.layout, form.layout) && from.dtype == form.type) return value;
  const ValueId content = content_[value];
  for (const auto& [known, copy] : reordered_) {
    const TensorDesc& desc = plan_.values[copy].desc;
    const bool serves = !backward && known == content && same_layout(desc.layout, form.layout) &&
                        desc.dtype == form.type && desc.shape == from.shape;
    if (serves) return copy;
  }
  const TensorDesc to{from.shape, form.type, form.layout};
  const std::string type = from.dtype == form.type ? "" : std::string(name_of(form.type)) + " ";
  const std::string label = plan_.values[value].label + " as " + type + layout_name(form.layout);
  const ValueId copy = new_value(label, to, false);
  content_[copy] = content;
  if (!backward) reordered_.emplace_back(content, copy);
  auto reorder = make_reorder(options_.device->kernel_kind(), from, to);
  ValueId scratch;
  if (reorder->scratch_bytes() > 0) scratch = new_raw("scratch of a reorder", reorder->scratch_bytes());
  Step& step = push(StepKind::kReorder, unit, backward);
  step.bottoms = {value};
  step.tops = {copy};
  step.scratch = scratch;
  step.reorder = std::move(reorder);
  const StepId at = plan_.steps.end_id() - 1;
  touch(value, at);
  touch(copy, at);
  touch(scratch, at);
  return copy;
}

ValueId PlanBuilder::add_top(VersionId version, const Form& form, bool persistent) {
  const BlobVersion& blob = graph_.versions[version];
  const bool output = !blob.consumer;
  const bool keep = persistent || output || (options_.keep_blobs && visible(version));
  const ValueId value = new_value(blob.name, {blob.shape, form.type, form.layout}, keep);
  plan_.data[version] = value;
  return value;
}

bool PlanBuilder::visible(VersionId version) const { return !graph_.versions[version].hidden_by_later; }

ValueId PlanBuilder::new_value(std::string label, TensorDesc desc, bool persistent) {
  Value value;
  value.label = std::move(label);
  value.bytes = desc.bytes();
  value.desc = std::move(desc);
  value.persistent = persistent;
  plan_.values.push_back(std::move(value));
  content_.push_back(plan_.values.end_id() - 1);
  return content_.back();
}

ValueId PlanBuilder::new_raw(std::string label, size_t bytes) {
  const ValueId value = new_value(std::move(label), {Shape{0}, options_.dtype, nullptr}, false);
  plan_.values.back().bytes = bytes;
  plan_.values.back().raw = true;
  return value;
}

Step& PlanBuilder::push(StepKind kind, UnitId unit, bool backward) {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  step.unit = unit;
  step.in_backward = backward;
  return step;
}

void PlanBuilder::touch(ValueId index, StepId step) {
  if (!index) return;
  Value& value = plan_.values[index];
  if (!value.first) value.first = step;
  value.last = std::max(value.last, step);
}

void PlanBuilder::touch(const std::vector<ValueId>& values, StepId step) {
  for (const ValueId value : values) touch(value, step);
}

void PlanBuilder::mark_gradient_parts() {
  std::map<Param*, Step*> last;
  for (Step& step : plan_.steps) {
    if (step.kind != StepKind::kBackward) continue;
    const Unit& unit = plan_.units[step.unit];
    step.first_part.assign(unit.params.size(), 0);
    for (size_t i = 0; i < unit.params.size(); ++i) {
      if (!unit.param_grads[i]) continue;
      step.first_part[i] = !last.contains(unit.params[i]);
      last[unit.params[i]] = &step;
    }
  }
  for (Step& step : plan_.steps) {
    if (step.kind != StepKind::kBackward) continue;
    for (Param* param : plan_.units[step.unit].params) {
      const auto found = last.find(param);
      if (found == last.end() || found->second != &step) continue;
      step.ready.push_back(param);
      plan_.completion.push_back(param);
      last.erase(found);
    }
  }
  for (const ParamPtr& param : graph_.params) {
    const auto& done = plan_.completion;
    if (std::find(done.begin(), done.end(), param.get()) == done.end()) plan_.completion.push_back(param.get());
  }
}

}  // namespace robusta
