// Candidates of several tightness are made and the cheapest that fits is taken: how much to move, with or without
// repeated steps, and how many bytes copies may hold while they hide.

#include "memory/plan_residency.h"

#include <algorithm>

#include "memory/eviction.h"
#include "memory/placement.h"
#include "memory/transfers.h"

namespace robusta {
namespace {

/// The stays of all blocks, not yet placed.
std::vector<Stay> stays_of(const ResidencyProblem& problem, const std::vector<Absence>& absences) {
  std::vector<Stay> stays;
  size_t next = 0;
  for (const BlockId b : problem.blocks.ids()) {
    const auto& uses = problem.blocks[b].uses;
    StepId first = uses.front().step, last = uses.back().step;
    for (; next < absences.size() && absences[next].block == b; ++next) {
      stays.push_back({b, first, absences[next].released, 0});
      first = absences[next].fetched;
      last = std::max(last, absences[next].before);
    }
    stays.push_back({b, first, last, 0});
  }
  return stays;
}

/// Gives every stay and every repeated step's scratch its place; returns the size of the arena.
size_t place_stays(const ResidencyProblem& problem, std::vector<Stay>& stays, std::vector<Absence>& absences) {
  std::vector<Lifetime> lives;
  for (const Stay& stay : stays) {
    lives.push_back({problem.blocks[stay.block].bytes, stay.first, stay.last});
  }
  for (const Absence& absence : absences) {
    const auto& repeat = problem.blocks[absence.block].repeat;
    lives.push_back({absence.repeated ? repeat->scratch : 0, absence.before, absence.before});
  }
  const Placement placement = place(lives);
  for (size_t i = 0; i < stays.size(); ++i) stays[i].offset = placement.offsets[i];
  for (size_t i = 0; i < absences.size(); ++i) absences[i].scratch_offset = placement.offsets[stays.size() + i];
  return placement.bytes;
}

void sum_up(const ResidencyProblem& problem, Residency& residency) {
  for (const Absence& absence : residency.absences) {
    const MemoryBlock& block = problem.blocks[absence.block];
    if (absence.repeated) residency.repeat_seconds += block.repeat->seconds;
    if (absence.copied_out) residency.bytes_out += block.bytes;
    if (!absence.repeated) residency.bytes_in += block.bytes;
  }
  residency.exposed_seconds = exposed_seconds(problem, residency.absences);
}

/// Copies as hidden as they are when at most `limit` bytes are alive in any step.
Residency hide_copies(const ResidencyProblem& problem, const Eviction& eviction, size_t limit) {
  Residency residency;
  residency.absences = eviction.absences();
  IdVector<StepId, size_t> alive = eviction.alive();
  widen_copies(problem, residency.absences, alive, limit);
  residency.stays = stays_of(problem, residency.absences);
  residency.arena_bytes = place_stays(problem, residency.stays, residency.absences);
  sum_up(problem, residency);
  return residency;
}

/// Blocks of different sizes leave holes: what does not fit is tried again with less alive at a time.
Residency hide_copies_within_budget(const ResidencyProblem& problem, const Eviction& eviction) {
  constexpr int kTries = 4;
  size_t limit = problem.budget;
  Residency residency = hide_copies(problem, eviction, limit);
  for (int i = 0; i < kTries && residency.arena_bytes > problem.budget && limit > 0; ++i) {
    const size_t over = residency.arena_bytes - problem.budget;
    limit = i + 1 < kTries && limit > over ? limit - over : 0;
    Residency tighter = hide_copies(problem, eviction, limit);
    if (tighter.arena_bytes < residency.arena_bytes) residency = std::move(tighter);
  }
  return residency;
}

bool better(const Residency& a, const Residency& b, size_t budget) {
  const bool a_fits = a.arena_bytes <= budget, b_fits = b.arena_bytes <= budget;
  if (a_fits != b_fits) return a_fits;
  // Where nothing fits the smallest tells how much is lacking.
  if (!a_fits) return a.arena_bytes < b.arena_bytes;
  if (a.cost() != b.cost()) return a.cost() < b.cost();
  return a.bytes_in < b.bytes_in;
}

}  // namespace

Residency plan_residency(const ResidencyProblem& problem) {
  // Moving more than has to be makes room in which copies can hide, and fills holes between blocks.
  constexpr double kShares[] = {1, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7, 0.6, 0};
  const size_t goal = std::min(problem.goal, problem.budget);
  const auto fits = [&](const Residency& residency) { return residency.arena_bytes <= problem.budget; };
  Residency best = hide_copies_within_budget(problem, Eviction(problem, false));
  if (best.arena_bytes <= goal) return best;

  const bool any_repeat = std::any_of(problem.blocks.begin(), problem.blocks.end(),
                                      [](const MemoryBlock& block) { return block.repeat.has_value(); });
  bool first = true;
  for (const bool may_repeat : {false, true}) {
    if (may_repeat && !any_repeat) continue;
    for (const double share : kShares) {
      if (share == 0 && fits(best)) continue;  // the last resort
      Eviction eviction(problem, may_repeat);
      eviction.reduce_to(static_cast<size_t>(static_cast<double>(goal) * share));
      Residency residency = hide_copies_within_budget(problem, eviction);
      if (first || better(residency, best, problem.budget)) best = std::move(residency);
      first = false;
      if (goal == 0 || (goal < problem.budget && fits(best))) break;
    }
  }
  return best;
}

}  // namespace robusta
