// The values of a plan: made with a label, in a form, and kept as long as some step uses them.
//
// A reordered copy serves all forward readers that want the same content in the same form. Gradients have one reader
// each: their copies are not looked for.

#include <algorithm>

#include "net/plan/plan_builder.h"

namespace robusta {
namespace {

Layout layout_at(const std::vector<Layout>& layouts, size_t i) { return i < layouts.size() ? layouts[i] : nullptr; }

DType type_at(const std::vector<DType>& types, size_t i, DType otherwise) {
  return i < types.size() ? types[i] : otherwise;
}

}  // namespace

PlanBuilder::Form PlanBuilder::bottom_form(const Unit& unit, size_t bottom) {
  const Booking& booking = unit.kernel->booking();
  return {layout_at(booking.bottom_layouts, bottom), type_at(booking.bottom_types, bottom, unit.storage)};
}

PlanBuilder::Form PlanBuilder::top_form(const Unit& unit, size_t top) {
  const Booking& booking = unit.kernel->booking();
  return {layout_at(booking.top_layouts, top), type_at(booking.top_types, top, unit.storage)};
}

ValueId PlanBuilder::constant(std::string label, const TensorDesc& desc, float content) {
  const ValueId value = new_value(std::move(label), desc, true);
  plan_.constants.emplace_back(value, content);
  return value;
}

ValueId PlanBuilder::in_form(ValueId value, const Form& form, UnitId unit, bool backward) {
  const TensorDesc& from = plan_.values[value].desc;
  if (same_layout(from.layout, form.layout) && from.dtype == form.type) return value;
  const TensorDesc to{from.shape, form.type, form.layout};
  const ValueId known = backward ? ValueId::none() : copy_of(content_[value], to);
  return known ? known : add_reorder(value, to, unit, backward);
}

/// The copy of a content that a forward reorder has made, if there is one.
ValueId PlanBuilder::copy_of(ValueId content, const TensorDesc& wanted) const {
  for (const auto& [known, copy] : reordered_) {
    const TensorDesc& desc = plan_.values[copy].desc;
    const bool serves = known == content && same_layout(desc.layout, wanted.layout) && desc.dtype == wanted.dtype &&
                        desc.shape == wanted.shape;
    if (serves) return copy;
  }
  return ValueId::none();
}

ValueId PlanBuilder::add_reorder(ValueId value, const TensorDesc& to, UnitId unit, bool backward) {
  const TensorDesc from = plan_.values[value].desc;
  const std::string type = from.dtype == to.dtype ? "" : std::string(name_of(to.dtype)) + " ";
  const ValueId copy = new_value(plan_.values[value].label + " as " + type + layout_name(to.layout), to, false);
  content_[copy] = content_[value];
  if (!backward) reordered_.emplace_back(content_[value], copy);
  auto reorder = make_reorder(options_.device->kernel_kind(), from, to);
  ValueId scratch;
  if (reorder->scratch_bytes() > 0) scratch = new_raw("scratch of a reorder", reorder->scratch_bytes());
  Step& step = push(StepKind::kReorder, unit, backward);
  step.bottoms = {value};
  step.tops = {copy};
  step.scratch = scratch;
  step.reorder = std::move(reorder);
  touch_last_step();
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

void PlanBuilder::touch(ValueId id, StepId step) {
  Value& value = plan_.values[id];
  if (!value.first) value.first = step;
  value.last = std::max(value.last, step);
}

void PlanBuilder::touch_last_step() {
  const StepId last = plan_.steps.end_id() - 1;
  for_values(plan_.steps[last], [&](ValueId value) { touch(value, last); });
}

}  // namespace robusta
