#include "memory/eviction.h"

#include <algorithm>
#include <queue>

namespace robusta {
namespace {

constexpr double kLeastSeconds = 1e-9;  // of a cost: nothing is free

size_t excess(size_t bytes, size_t goal) { return bytes > goal ? bytes - goal : 0; }

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
  for (size_t b = 0; b < tracks_.size(); ++b) {
    const auto& uses = tracks_[b].uses;
    change(problem_.blocks[b].bytes, uses.front().step - 1, uses.back().step + 1, true);
  }
}

/// In the steps between the two.
void Eviction::change(size_t bytes, int after, int before, bool add) {
  for (int s = after + 1; s < before; ++s) {
    size_t& alive = alive_[static_cast<size_t>(s)];
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
      std::vector<Gap> news;
      accept(now, news);
      for (const Gap& gap : news) queue.push(gap);
      progress = true;
    }
  }
  take_back_needless();
}

void Eviction::collect(std::vector<Gap>& gaps) const {
  for (size_t b = 0; b < tracks_.size(); ++b) {
    for (size_t use = 0; use + 1 < tracks_[b].uses.size(); ++use) collect(static_cast<int>(b), use, gaps);
  }
}

void Eviction::collect(int index, size_t use, std::vector<Gap>& gaps) const {
  const Track& t = track(index);
  if (t.away[use] != Away::kNo || !eligible(index, t.uses[use], t.uses[use + 1])) return;
  const Gap gap = rated(index, t.uses[use].step, t.uses[use + 1].step);
  if (gap.score > 0) gaps.push_back(gap);
}

bool Eviction::eligible(int index, const BlockUse& from, const BlockUse& to) const {
  if (!block(index).movable || block(index).bytes == 0 || block(index).bytes < problem_.min_bytes) return false;
  if (to.step - from.step < 2) return false;
  return problem_.across < 0 || (from.step < problem_.across && to.step >= problem_.across);
}

bool Eviction::still_there(const Gap& gap) const {
  const Track& t = track(gap.block);
  const size_t use = use_at_or_before(gap.block, gap.after);
  return t.uses[use].step == gap.after && t.away[use] == Away::kNo && t.uses[use + 1].step == gap.before;
}

Eviction::Gap Eviction::rated(int index, int after, int before) const {
  Gap gap{0, index, after, before, false};
  const double relieved = relief(gap);
  if (relieved <= 0) return gap;
  gap.score = relieved / std::max(copy_seconds(gap), kLeastSeconds);
  if (!may_repeat(gap)) return gap;
  const double net = relieved - burden(gap);
  const double repeated = net / std::max(block(index).repeat->seconds, kLeastSeconds);
  if (repeated > gap.score) gap.score = repeated, gap.repeated = true;
  return gap;
}

/// Bytes, summed over the steps, by which too many are alive and that the gap frees.
double Eviction::relief(const Gap& gap) const {
  const size_t bytes = block(gap.block).bytes;
  double sum = 0;
  for (int s = gap.after + 1; s < gap.before; ++s) {
    sum += static_cast<double>(std::min(bytes, excess(alive_[static_cast<size_t>(s)], goal_)));
  }
  return sum;
}

/// The same of what a repeated step wants there earlier than it would be.
double Eviction::burden(const Gap& gap) const {
  const MemoryBlock::Repeat& repeat = *block(gap.block).repeat;
  const auto added = [&](size_t bytes, int step) {
    const size_t alive = alive_[static_cast<size_t>(step)];
    return static_cast<double>(excess(alive + bytes, goal_) - excess(alive, goal_));
  };
  double sum = added(repeat.scratch, gap.before);
  for (const int need : repeat.needs) {
    const Track& t = track(need);
    const size_t use = use_at_or_before(need, gap.before);
    if (t.away[use] == Away::kNo || t.uses[use].step == gap.before) continue;
    for (int s = gap.before; s < t.uses[use + 1].step; ++s) sum += added(block(need).bytes, s);
  }
  return sum;
}

/// The link's time; what the gap is too short to hide counts twice.
double Eviction::copy_seconds(const Gap& gap) const {
  const auto bytes = static_cast<double>(block(gap.block).bytes);
  const bool out = !host_has(gap.block, use_at_or_before(gap.block, gap.after));
  const double link = bytes / problem_.in_rate + (out ? bytes / problem_.out_rate : 0);
  const double gap_seconds = start_[static_cast<size_t>(gap.before)] - start_[static_cast<size_t>(gap.after) + 1];
  return link + std::max(0.0, link - gap_seconds);
}

/// Whether an earlier copy still holds what the block has after this use.
bool Eviction::host_has(int index, size_t use) const {
  const Track& t = track(index);
  for (size_t i = use + 1; i-- > 0;) {
    if (i < use && t.away[i] == Away::kCopied) return true;
    if (t.uses[i].writes) return false;
  }
  return false;
}

/// The content must still be that of the first use, and what that use read must be there, unchanged, and not itself
/// repeated for a later step.
bool Eviction::may_repeat(const Gap& gap) const {
  if (!repeats_ || !block(gap.block).repeat) return false;
  const auto unchanged = [](const Track& t, int after, int before) {
    return std::none_of(t.uses.begin(), t.uses.end(),
                        [&](const BlockUse& use) { return use.writes && use.step > after && use.step < before; });
  };
  const int made = track(gap.block).uses.front().step;
  if (!unchanged(track(gap.block), made, gap.before)) return false;
  for (const int need : block(gap.block).repeat->needs) {
    const Track& t = track(need);
    if (t.uses.back().step < gap.before || !unchanged(t, made, gap.before)) return false;
    const size_t use = use_at_or_before(need, gap.before);
    if (t.uses[use].step < gap.before && t.away[use] == Away::kRepeated) return false;
  }
  return true;
}

void Eviction::accept(const Gap& gap, std::vector<Gap>& news) {
  const size_t use = use_at_or_before(gap.block, gap.after);
  track(gap.block).away[use] = gap.repeated ? Away::kRepeated : Away::kCopied;
  change(block(gap.block).bytes, gap.after, gap.before, false);
  accepted_.push_back(gap);
  if (!gap.repeated) return;
  change(block(gap.block).repeat->scratch, gap.before - 1, gap.before + 1, true);
  for (const int need : block(gap.block).repeat->needs) need_at(need, gap.before, news);
}

/// One more use of a block. Where it was away until later, it now comes back for this step.
void Eviction::need_at(int index, int step, std::vector<Gap>& news) {
  Track& t = track(index);
  const size_t use = use_at_or_before(index, step);
  if (t.uses[use].step == step) return;
  const bool was_away = t.away[use] != Away::kNo;
  if (was_away) change(block(index).bytes, step - 1, t.uses[use + 1].step, true);
  t.uses.insert(t.uses.begin() + static_cast<std::ptrdiff_t>(use) + 1, {step, false});
  t.away.insert(t.away.begin() + static_cast<std::ptrdiff_t>(use) + 1, Away::kNo);
  if (!was_away) collect(index, use, news);
  collect(index, use + 1, news);
}

/// The last choices may have made earlier ones needless.
void Eviction::take_back_needless() {
  for (auto gap = accepted_.rbegin(); gap != accepted_.rend(); ++gap) {
    Track& t = track(gap->block);
    const size_t use = use_at_or_before(gap->block, gap->after);
    if (t.uses[use].step != gap->after || t.away[use] == Away::kNo) continue;
    const size_t bytes = block(gap->block).bytes;
    const auto from = alive_.begin() + gap->after + 1, to = alive_.begin() + t.uses[use + 1].step;
    if (std::any_of(from, to, [&](size_t alive) { return alive + bytes > goal_; })) continue;
    if (t.away[use] == Away::kRepeated) {
      change(block(gap->block).repeat->scratch, gap->before - 1, gap->before + 1, false);
    }
    change(bytes, gap->after, t.uses[use + 1].step, true);
    t.away[use] = Away::kNo;
  }
}

std::vector<Absence> Eviction::absences() const {
  std::vector<Absence> all;
  for (size_t b = 0; b < tracks_.size(); ++b) {
    const Track& t = tracks_[b];
    for (size_t use = 0; use + 1 < t.uses.size(); ++use) {
      if (t.away[use] == Away::kNo) continue;
      const bool repeated = t.away[use] == Away::kRepeated;
      const int after = t.uses[use].step, before = t.uses[use + 1].step;
      const bool out = !repeated && !host_has(static_cast<int>(b), use);
      all.push_back({static_cast<int>(b), after, before, repeated, out, after, before, 0});
    }
  }
  return all;
}

size_t Eviction::use_at_or_before(int index, int step) const {
  const auto& uses = track(index).uses;
  const auto after =
      std::upper_bound(uses.begin(), uses.end(), step, [](int value, const BlockUse& use) { return value < use.step; });
  return static_cast<size_t>(after - uses.begin()) - 1;
}

}  // namespace robusta
