// One walk over the old steps: copies in and repeated steps go before the step that wants them, copies out behind the
// step that they follow, and operands are renamed to the values of the lives that their blocks are in.
//
// What always holds: kernels, their order and their operands' contents are those of the resident pass, hence its bits.

#include "net/offload/rewriter.h"

#include <algorithm>

#include "memory/placement.h"

namespace robusta {

Rewriter::Rewriter(Plan& plan, const BlockTable& table, const Residency& residency)
    : plan_(plan), table_(table), residency_(residency), lives_(table.blocks.size()) {
  for (size_t i = 0; i < residency.stays.size(); ++i) lives_[residency.stays[i].block].stays.push_back(i);
  for (const Absence& absence : residency.absences) {
    if (absence.copied_out) leaving_[absence.after].push_back(&absence);
    if (!absence.repeated) arriving_[absence.fetched].push_back(&absence);
    if (absence.repeated) repeating_[absence.before].push_back(&absence);
    place_on_host(absence);
  }
  // In the order in which they are needed; repeated steps in that of their first runs, as one may need the other.
  for (auto& [step, absences] : arriving_) {
    std::stable_sort(absences.begin(), absences.end(),
                     [](const Absence* a, const Absence* b) { return a->before < b->before; });
  }
  for (auto& [step, absences] : repeating_) {
    std::stable_sort(absences.begin(), absences.end(),
                     [&](const Absence* a, const Absence* b) { return made(*a) < made(*b); });
  }
}

void Rewriter::run() {
  IdVector<StepId, Step> old = std::move(plan_.steps);
  plan_.steps.clear();
  old_steps_ = &old;
  const StepId backward = plan_.backward_begin;
  for (const StepId step : old.ids()) {
    if (step == backward) plan_.backward_begin = plan_.steps.end_id();
    for (const Absence* absence : arriving_[step]) fetch(*absence, step >= backward);
    for (const Absence* absence : repeating_[step]) repeat(*absence, step >= backward);
    first_run_.push_back({old[step].bottoms, old[step].tops, old[step].saved, old[step].scratch});
    use_lives(old[step]);
    new_index_.push_back(plan_.steps.push_back(std::move(old[step])));
    for (const Absence* absence : leaving_[step]) leave(*absence, step >= backward);
  }
  if (backward >= new_index_.end_id()) plan_.backward_begin = plan_.steps.end_id();
  place();
  find_lifetimes();
  plan_.arena_bytes = residency_.arena_bytes;
}

StepId Rewriter::first_use(const Absence& absence) const { return table_.blocks[absence.block].uses.front().step; }

StepId Rewriter::made(const Absence& absence) const { return table_.blocks[absence.block].repeat->made; }

/// One place per block: contents that are out at the same time are nearly all of them, halfway through a pass.
void Rewriter::place_on_host(const Absence& absence) {
  if (absence.repeated || host_offset_.contains(absence.block)) return;
  host_offset_[absence.block] = plan_.offloading.host_bytes;
  plan_.offloading.host_bytes += align_up(table_.blocks[absence.block].bytes);
}

ValueId Rewriter::root_now(BlockId block) {
  Lives& l = lives_[block];
  return l.now == 0 ? table_.root[block] : l.roots[l.now - 1];
}

Step& Rewriter::push_copy(StepKind kind, const Absence& absence, bool backward) {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  step.unit = (*old_steps_)[first_use(absence)].unit;
  step.in_backward = backward;
  step.host_offset = host_offset_[absence.block];
  return step;
}

void Rewriter::leave(const Absence& absence, bool backward) {
  const ValueId root = root_now(absence.block);
  push_copy(StepKind::kOffload, absence, backward).bottoms = {root};
}

void Rewriter::fetch(const Absence& absence, bool backward) {
  begin_life(absence.block);
  const ValueId root = root_now(absence.block);
  push_copy(StepKind::kPrefetch, absence, backward).tops = {root};
}

void Rewriter::repeat(const Absence& absence, bool backward) {
  begin_life(absence.block);
  for (const StepId first_run : table_.repeat_steps[absence.block]) {
    run_again(first_run, absence.scratch_offset, backward);
  }
}

void Rewriter::run_again(StepId first_run, size_t scratch_offset, bool backward) {
  const Step& made = plan_.steps[new_index_[first_run]];
  const Operands& operands = first_run_[first_run];
  Step step;
  step.kind = StepKind::kRepeat;
  step.unit = made.unit;
  step.in_backward = backward;
  step.reorder = made.reorder;
  step.bottoms = operands.bottoms;
  step.tops = operands.tops;
  step.saved = operands.saved;
  if (operands.scratch) {
    step.scratch = clone(operands.scratch);
    scratch_.emplace_back(step.scratch, scratch_offset);
  }
  use_lives(step);
  plan_.steps.push_back(std::move(step));
}

/// From here on the steps use other values of this block.
void Rewriter::begin_life(BlockId block) {
  Lives& l = lives_[block];
  const ValueId root = clone(table_.root[block]);
  plan_.values[root].bytes = table_.blocks[block].bytes;
  l.value.clear();
  l.value[table_.root[block]] = root;
  l.roots.push_back(root);
  ++l.now;
}

ValueId Rewriter::clone(ValueId value) {
  Value again = plan_.values[value];
  again.storage = plan_.values.end_id();
  return plan_.values.push_back(std::move(again));
}

void Rewriter::use_lives(Step& step) {
  for (auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (ValueId& value : *values) use_life(value);
  }
  use_life(step.saved);
  use_life(step.scratch);
}

void Rewriter::use_life(ValueId& value) {
  if (!table_.block_of.contains(value)) return;
  const BlockId block = table_.block_of[value];
  if (!block || lives_[block].now == 0) return;
  Lives& l = lives_[block];
  const auto [known, fresh] = l.value.try_emplace(value);
  if (fresh) {
    known->second = clone(value);
    plan_.values[known->second].storage = l.roots.back();
  }
  value = known->second;
}

void Rewriter::place() {
  std::map<ValueId, size_t> offset;  // by root
  for (const BlockId b : lives_.ids()) {
    for (size_t life = 0; life < lives_[b].stays.size(); ++life) {
      const ValueId root = life == 0 ? table_.root[b] : lives_[b].roots[life - 1];
      offset[root] = residency_.stays[lives_[b].stays[life]].offset;
    }
  }
  for (const auto& [value, at] : scratch_) offset[value] = at;
  for (Value& value : plan_.values) {
    const auto found = offset.find(value.storage);
    if (!value.persistent && found != offset.end()) value.offset = found->second;
  }
}

void Rewriter::find_lifetimes() {
  for (Value& value : plan_.values) value.first = value.last = StepId::none();
  const auto touch = [&](ValueId index, StepId step) {
    Value& value = plan_.values[index];
    if (!value.first) value.first = step;
    value.last = std::max(value.last, step);
  };
  for (const StepId s : plan_.steps.ids()) {
    for_values(plan_.steps[s], [&](ValueId value) { touch(value, s); });
  }
  // Memory that a copy out holds for some steps more.
  for (const Absence& absence : residency_.absences) {
    Lives& l = lives_[absence.block];
    const size_t life = ended_[absence.block]++;
    const ValueId root = life == 0 ? table_.root[absence.block] : l.roots[life - 1];
    if (absence.released > absence.after) touch(root, new_index_[absence.released]);
  }
}

}  // namespace robusta
