// The greedy choice of gaps. A gap's score is what it relieves per second that it costs; accepting one only lowers the
// scores of others, so that a queue of old scores, each rated again when it comes up, always yields the best (lazy
// greedy evaluation, Minoux 1978, "Accelerated greedy algorithms for maximizing submodular set functions").

#include "memory/eviction.h"

#include <algorithm>
#include <queue>

namespace robusta {
namespace {

constexpr double kLeastSeconds = 1e-9;  // of a cost: nothing is free

}  // namespace

/// Equal scores: the longer gap is better, then the earlier one.
bool Eviction::Gap::operator<(const Gap& other) const {
  if (score != other.score) return score < other.score;
  if (before - after != other.before - other.after) return before - after < other.before - other.after;
  return block != other.block ? block > other.block : after > other.after;
}

Eviction::Eviction(const ResidencyProblem& problem, bool may_repeat) : problem_(problem), repeats_(may_repeat) {
  start_.push_back(0);
  for (const double seconds : problem.step_seconds) start_.push_back(start_.back() + seconds);
  for (const MemoryBlock& block : problem.blocks) {
    tracks_.push_back({block.uses, std::vector<Away>(block.uses.size(), Away::kNo)});
  }
  count_alive();
}

void Eviction::count_alive() {
  alive_.assign(problem_.step_seconds.size(), 0);
  used_ = alive_;
  for (const BlockId b : tracks_.ids()) {
    const auto& uses = tracks_[b].uses;
    change(block(b).bytes, uses.front().step - 1, uses.back().step + 1, true);
    for (const BlockUse& use : uses) used_[use.step] += block(b).bytes;
  }
}

/// In the steps between the two.
void Eviction::change(size_t bytes, StepId after, StepId before, bool add) {
  for (StepId s = after + 1; s < before; ++s) {
    size_t& alive = alive_[s];
    alive = add ? alive + bytes : alive - bytes;
  }
}

void Eviction::reduce_to(size_t goal) {
  goal_ = goal;
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<Gap> gaps;
    collect(gaps);
    std::priority_queue<Gap> queue(std::less<Gap>(), std::move(gaps));
    while (!queue.empty()) {
      const Gap old = queue.top();
      queue.pop();
      if (!still_there(old)) continue;
      // What others have freed meanwhile is not freed again: scores only fall, so the first that keeps its place is
      // the best.
      const Gap now = rated(old.block, old.after, old.before);
      if (now.score <= 0) continue;
      if (!queue.empty() && now < queue.top()) {
        queue.push(now);
        continue;
      }
      std::vector<Gap> opened;
      accept(now, opened);
      for (const Gap& gap : opened) queue.push(gap);
      progress = true;
    }
  }
  take_back_needless();
}

void Eviction::collect(std::vector<Gap>& gaps) const {
  for (const BlockId b : tracks_.ids()) {
    for (size_t use = 0; use + 1 < tracks_[b].uses.size(); ++use) collect(b, use, gaps);
  }
}

void Eviction::collect(BlockId index, size_t use, std::vector<Gap>& gaps) const {
  const Track& t = tracks_[index];
  if (t.away[use] != Away::kNo || !eligible(index, t.uses[use], t.uses[use + 1])) return;
  const Gap gap = rated(index, t.uses[use].step, t.uses[use + 1].step);
  if (gap.score > 0) gaps.push_back(gap);
}

bool Eviction::eligible(BlockId index, const BlockUse& from, const BlockUse& to) const {
  if (!block(index).movable || block(index).bytes == 0 || block(index).bytes < problem_.min_bytes) return false;
  // Between neighbouring steps there is no step in which the block could be away.
  if (to.step - from.step < 2) return false;
  return !problem_.across || (from.step < problem_.across && to.step >= problem_.across);
}

bool Eviction::still_there(const Gap& gap) const {
  const Track& t = tracks_[gap.block];
  const size_t use = use_at_or_before(gap.block, gap.after);
  return t.uses[use].step == gap.after && t.away[use] == Away::kNo && t.uses[use + 1].step == gap.before;
}

Eviction::Gap Eviction::rated(BlockId index, StepId after, StepId before) const {
  Gap gap{.block = index, .after = after, .before = before};
  const double relieved = relief(gap);
  if (relieved <= 0) return gap;
  gap.score = relieved / std::max(copy_seconds(gap), kLeastSeconds);
  if (!repeats_ || !block(index).repeat || block(index).repeat->made > after) return gap;
  if (!repeatable(index, before, 0)) return gap;
  const Extra more = extra(index, before);
  if (used_[before] + bytes_of(more) > goal_) return gap;
  const double net = relieved - burden(more, before);
  const double repeated = net / std::max(repeat_seconds(index, before), kLeastSeconds);
  if (repeated > gap.score) gap.score = repeated, gap.repeated = true;
  return gap;
}

/// Bytes, summed over the steps, by which too many are alive and that the gap frees.
double Eviction::relief(const Gap& gap) const {
  const size_t bytes = block(gap.block).bytes;
  double sum = 0;
  for (StepId s = gap.after + 1; s < gap.before; ++s) {
    sum += static_cast<double>(std::min(bytes, excess(alive_[s], goal_)));
  }
  return sum;
}

/// The link's time; what the gap is too short to hide counts twice.
double Eviction::copy_seconds(const Gap& gap) const {
  const auto bytes = static_cast<double>(block(gap.block).bytes);
  const bool out = !host_has(gap.block, use_at_or_before(gap.block, gap.after));
  // What the host already has from an earlier absence need not be copied out again, unless it was written since.
  const double link = bytes / problem_.in_rate + (out ? bytes / problem_.out_rate : 0);
  const double gap_seconds = start_[gap.before] - start_[gap.after + 1];
  return link + std::max(0.0, link - gap_seconds);
}

void Eviction::accept(const Gap& gap, std::vector<Gap>& opened) {
  const size_t use = use_at_or_before(gap.block, gap.after);
  tracks_[gap.block].away[use] = gap.repeated ? Away::kRepeated : Away::kCopied;
  change(block(gap.block).bytes, gap.after, gap.before, false);
  accepted_.push_back(gap);
  if (gap.repeated) repeat_at(gap.block, gap.before, opened);
}

/// The last choices may have made earlier ones needless. (Repeated steps are cheap, and may serve one another.)
void Eviction::take_back_needless() {
  for (auto gap = accepted_.rbegin(); gap != accepted_.rend(); ++gap) {
    Track& t = tracks_[gap->block];
    const size_t use = use_at_or_before(gap->block, gap->after);
    if (t.uses[use].step != gap->after || t.away[use] != Away::kCopied) continue;
    const size_t bytes = block(gap->block).bytes;
    const auto from = alive_.begin() + gap->after.number() + 1, to = alive_.begin() + t.uses[use + 1].step.number();
    if (std::any_of(from, to, [&](size_t alive) { return alive + bytes > goal_; })) continue;
    change(bytes, gap->after, t.uses[use + 1].step, true);
    t.away[use] = Away::kNo;
  }
}

std::vector<Absence> Eviction::absences() const {
  std::vector<Absence> all;
  for (const BlockId b : tracks_.ids()) {
    const Track& t = tracks_[b];
    for (size_t use = 0; use + 1 < t.uses.size(); ++use) {
      if (t.away[use] == Away::kNo) continue;
      const bool repeated = t.away[use] == Away::kRepeated;
      const StepId after = t.uses[use].step, before = t.uses[use + 1].step;
      const bool out = !repeated && !host_has(b, use);
      all.push_back({.block = b,
                     .after = after,
                     .before = before,
                     .repeated = repeated,
                     .copied_out = out,
                     .released = after,
                     .fetched = before});
    }
  }
  return all;
}

size_t Eviction::use_at_or_before(BlockId index, StepId step) const {
  const auto& uses = tracks_[index].uses;
  const auto after = std::upper_bound(uses.begin(), uses.end(), step,
                                      [](StepId value, const BlockUse& use) { return value < use.step; });
  return static_cast<size_t>(after - uses.begin()) - 1;
}

}  // namespace robusta
