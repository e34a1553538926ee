// What running steps again takes and needs (rematerialisation, Chen et al. 2016, "Training Deep Nets with Sublinear
// Memory Cost").
//
// What always holds: a block is repeated only where everything that its steps read is there, unchanged since the first
// run, or is itself repeated for it, to a limited depth; what it needs counts as used at that step from then on.

#include <algorithm>
#include <numeric>

#include "memory/eviction.h"

namespace robusta {
namespace {

constexpr int kDeepest = 3;  // of repeated steps that want others repeated for them

/// Nobody writes between the two steps.
bool unchanged(const std::vector<BlockUse>& uses, StepId after, StepId before) {
  return std::none_of(uses.begin(), uses.end(),
                      [&](const BlockUse& use) { return use.writes && use.step > after && use.step < before; });
}

}  // namespace

/// Whether an earlier copy still holds what the block has after this use.
bool Eviction::host_has(BlockId index, size_t use) const {
  const Track& t = tracks_[index];
  for (size_t i = use + 1; i-- > 0;) {
    if (i < use && t.away[i] == Away::kCopied) return true;
    if (t.uses[i].writes) return false;
  }
  return false;
}

/// The content must still be that of its steps, and what these read must be there, unchanged.
bool Eviction::repeatable(BlockId index, StepId before, int depth) const {
  const auto& repeat = block(index).repeat;
  if (!repeat || depth > kDeepest || !unchanged(tracks_[index].uses, repeat->made, before)) return false;
  return std::all_of(repeat->needs.begin(), repeat->needs.end(),
                     [&](const MemoryBlock::Need& need) { return available(need, before, depth); });
}

/// There at `before`, or away and to be copied back for it, or gone for good and to be made again for it, too.
bool Eviction::available(const MemoryBlock::Need& need, StepId before, int depth) const {
  const Track& t = tracks_[need.block];
  if (!unchanged(t.uses, need.step, before)) return false;
  if (!alive_after_all(need.block, before)) {
    const auto& repeat = block(need.block).repeat;
    return repeat && block(need.block).movable && repeat->made <= need.step &&
           repeatable(need.block, before, depth + 1);
  }
  const size_t use = use_at_or_before(need.block, before);
  return t.uses[use].step == before || t.away[use] != Away::kRepeated;
}

/// Whether a block has a use at this step or later.
bool Eviction::alive_after_all(BlockId index, StepId step) const { return tracks_[index].uses.back().step >= step; }

double Eviction::repeat_seconds(BlockId index, StepId before) const {
  const MemoryBlock::Repeat& repeat = *block(index).repeat;
  double seconds = repeat.seconds;
  for (const MemoryBlock::Need& need : repeat.needs) {
    if (!alive_after_all(need.block, before)) seconds += repeat_seconds(need.block, before);
  }
  return seconds;
}

/// What the step would use besides if the block were repeated for it: other blocks, each once, and scratch.
Eviction::Extra Eviction::extra(BlockId index, StepId before) const {
  Extra extra;
  add_extra(index, before, extra);
  return extra;
}

void Eviction::add_extra(BlockId index, StepId before, Extra& extra) const {
  extra.scratch += block(index).repeat->scratch;
  for (const MemoryBlock::Need& need : block(index).repeat->needs) {
    if (tracks_[need.block].uses[use_at_or_before(need.block, before)].step == before) continue;
    if (std::find(extra.blocks.begin(), extra.blocks.end(), need.block) != extra.blocks.end()) continue;
    extra.blocks.push_back(need.block);
    if (!alive_after_all(need.block, before)) add_extra(need.block, before, extra);
  }
}

size_t Eviction::bytes_of(const Extra& extra) const {
  return std::accumulate(extra.blocks.begin(), extra.blocks.end(), extra.scratch,
                         [&](size_t sum, BlockId index) { return sum + block(index).bytes; });
}

/// What relief() counts, of what repeating wants in memory earlier than it would be, or once more.
double Eviction::burden(const Extra& extra, StepId before) const {
  const auto added = [&](size_t bytes, StepId step) {
    const size_t alive = alive_[step];
    return static_cast<double>(excess(alive + bytes, goal_) - excess(alive, goal_));
  };
  double sum = added(extra.scratch, before);
  for (const BlockId index : extra.blocks) {
    const size_t bytes = block(index).bytes;
    if (!alive_after_all(index, before)) {
      sum += added(bytes, before);
      continue;
    }
    const Track& t = tracks_[index];
    const size_t use = use_at_or_before(index, before);
    if (t.away[use] == Away::kNo) continue;
    for (StepId s = before; s < t.uses[use + 1].step; ++s) sum += added(bytes, s);
  }
  return sum;
}

/// What a block's steps read when they run once more before this step is used then, too.
void Eviction::repeat_at(BlockId index, StepId step, std::vector<Gap>& opened) {
  change(block(index).repeat->scratch, step - 1, step + 1, true);
  used_[step] += block(index).repeat->scratch;
  for (const MemoryBlock::Need& need : block(index).repeat->needs) need_at(need.block, step, opened);
}

/// One more use of a block. Where it was away until later, it now comes back for this step.
void Eviction::need_at(BlockId index, StepId step, std::vector<Gap>& opened) {
  Track& t = tracks_[index];
  const size_t use = use_at_or_before(index, step);
  if (t.uses[use].step == step) return;
  const size_t bytes = block(index).bytes;
  used_[step] += bytes;
  const bool gone = use + 1 == t.uses.size(), was_away = t.away[use] != Away::kNo;
  t.uses.insert(t.uses.begin() + static_cast<std::ptrdiff_t>(use) + 1, {step, false});
  t.away.insert(t.away.begin() + static_cast<std::ptrdiff_t>(use) + 1, Away::kNo);
  if (gone) {
    t.away[use] = Away::kRepeated;
    change(bytes, step - 1, step + 1, true);
    return repeat_at(index, step, opened);
  }
  if (was_away) change(bytes, step - 1, t.uses[use + 2].step, true);
  if (!was_away) collect(index, use, opened);
  collect(index, use + 1, opened);
}

}  // namespace robusta
