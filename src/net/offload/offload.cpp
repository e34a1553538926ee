#include "net/offload/offload.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "memory/plan_residency.h"
#include "net/offload/blocks.h"
#include "net/offload/copy_order.h"
#include "net/plan/step_cost.h"

namespace robusta {
namespace {

ResidencyProblem problem_of(const Plan& plan, const Graph& graph, const NetOptions& options, const BlockTable& table) {
  ResidencyProblem problem;
  for (const Step& step : plan.steps) problem.step_seconds.push_back(step_seconds(graph, plan, step, options.rates));
  problem.blocks = table.blocks;
  problem.out_rate = problem.in_rate = options.rates.link;
  if (options.lms.mode == LmsOptions::Mode::kThreshold) {
    problem.min_bytes = options.lms.min_bytes;
    problem.across = plan.backward_begin;
  }
  return problem;
}

/// Rewrites the steps of a plan as a residency says.
class Rewriter {
 public:
  Rewriter(Plan& plan, const BlockTable& table, const Residency& residency)
      : plan_(plan), table_(table), residency_(residency), lives_(table.blocks.size()) {
    for (size_t i = 0; i < residency.stays.size(); ++i) lives_[block_of(residency.stays[i])].stays.push_back(i);
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

  void run() {
    std::vector<Step> old = std::move(plan_.steps);
    plan_.steps.clear();
    old_steps_ = &old;
    const int backward = plan_.backward_begin;
    for (size_t s = 0; s < old.size(); ++s) {
      const int step = static_cast<int>(s);
      if (step == backward) plan_.backward_begin = static_cast<int>(plan_.steps.size());
      for (const Absence* absence : arriving_[step]) fetch(*absence, step >= backward);
      for (const Absence* absence : repeating_[step]) repeat(*absence, step >= backward);
      first_run_.push_back({old[s].bottoms, old[s].tops, old[s].saved, old[s].scratch});
      use_lives(old[s]);
      new_index_.push_back(static_cast<int>(plan_.steps.size()));
      plan_.steps.push_back(std::move(old[s]));
      for (const Absence* absence : leaving_[step]) leave(*absence, step >= backward);
    }
    if (backward >= static_cast<int>(new_index_.size())) plan_.backward_begin = static_cast<int>(plan_.steps.size());
    place();
    settle_lifetimes();
    plan_.arena_bytes = residency_.arena_bytes;
  }

 private:
  /// The value in which each member of a block is now, and the places of its lives.
  struct Lives {
    std::vector<size_t> stays;
    size_t now = 0;
    std::map<int, int> value;  ///< by the value of the first life; not there: itself
    std::vector<int> roots;    ///< of the lives
  };

  /// Of a step, as values of their first lives.
  struct Operands {
    std::vector<int> bottoms, tops;
    int saved, scratch;
  };

  static size_t block_of(const Stay& stay) { return static_cast<size_t>(stay.block); }
  Lives& lives(int block) { return lives_[static_cast<size_t>(block)]; }
  int first_use(const Absence& absence) const {
    return table_.blocks[static_cast<size_t>(absence.block)].uses.front().step;
  }

  int made(const Absence& absence) const { return table_.blocks[static_cast<size_t>(absence.block)].repeat->made; }

  /// One place per block: contents that are out at the same time are nearly all of them, halfway through a pass.
  void place_on_host(const Absence& absence) {
    if (absence.repeated || host_offset_.contains(absence.block)) return;
    host_offset_[absence.block] = plan_.offloading.host_bytes;
    plan_.offloading.host_bytes += align_up(table_.blocks[static_cast<size_t>(absence.block)].bytes);
  }

  int root_now(int block) {
    Lives& l = lives(block);
    return l.now == 0 ? table_.root[static_cast<size_t>(block)] : l.roots[l.now - 1];
  }

  Step& push_copy(StepKind kind, const Absence& absence, bool backward) {
    Step& step = plan_.steps.emplace_back();
    step.kind = kind;
    step.unit = (*old_steps_)[static_cast<size_t>(first_use(absence))].unit;
    step.in_backward = backward;
    step.host_offset = host_offset_[absence.block];
    return step;
  }

  void leave(const Absence& absence, bool backward) {
    const int root = root_now(absence.block);
    push_copy(StepKind::kOffload, absence, backward).bottoms = {root};
  }

  void fetch(const Absence& absence, bool backward) {
    begin_life(absence.block);
    const int root = root_now(absence.block);
    push_copy(StepKind::kPrefetch, absence, backward).tops = {root};
  }

  void repeat(const Absence& absence, bool backward) {
    begin_life(absence.block);
    for (const int first_run : table_.repeat_steps[static_cast<size_t>(absence.block)]) {
      run_again(static_cast<size_t>(first_run), absence.scratch_offset, backward);
    }
  }

  void run_again(size_t first_run, size_t scratch_offset, bool backward) {
    const Step& made = plan_.steps[static_cast<size_t>(new_index_[first_run])];
    const Operands& operands = first_run_[first_run];
    Step step;
    step.kind = StepKind::kRepeat;
    step.unit = made.unit;
    step.in_backward = backward;
    step.reorder = made.reorder;
    step.bottoms = operands.bottoms;
    step.tops = operands.tops;
    step.saved = operands.saved;
    if (operands.scratch >= 0) {
      step.scratch = clone(operands.scratch);
      scratch_.emplace_back(step.scratch, scratch_offset);
    }
    use_lives(step);
    plan_.steps.push_back(std::move(step));
  }

  /// From here on the steps use other values of this block.
  void begin_life(int block) {
    Lives& l = lives(block);
    const int root = clone(table_.root[static_cast<size_t>(block)]);
    plan_.values[static_cast<size_t>(root)].bytes = table_.blocks[static_cast<size_t>(block)].bytes;
    l.value.clear();
    l.value[table_.root[static_cast<size_t>(block)]] = root;
    l.roots.push_back(root);
    ++l.now;
  }

  int clone(int value) {
    const int copy = static_cast<int>(plan_.values.size());
    Value again = plan_.values[static_cast<size_t>(value)];
    again.storage = copy;
    plan_.values.push_back(std::move(again));
    return copy;
  }

  void use_lives(Step& step) {
    for (auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
      for (int& value : *values) use_life(value);
    }
    use_life(step.saved);
    use_life(step.scratch);
  }

  void use_life(int& value) {
    if (value < 0 || static_cast<size_t>(value) >= table_.block_of.size()) return;
    const int block = table_.block_of[static_cast<size_t>(value)];
    if (block < 0 || lives(block).now == 0) return;
    Lives& l = lives(block);
    const auto [known, fresh] = l.value.try_emplace(value, -1);
    if (fresh) {
      known->second = clone(value);
      plan_.values[static_cast<size_t>(known->second)].storage = l.roots.back();
    }
    value = known->second;
  }

  void place() {
    std::map<int, size_t> offset;  // by root
    for (size_t b = 0; b < lives_.size(); ++b) {
      for (size_t life = 0; life < lives_[b].stays.size(); ++life) {
        const int root = life == 0 ? table_.root[b] : lives_[b].roots[life - 1];
        offset[root] = residency_.stays[lives_[b].stays[life]].offset;
      }
    }
    for (const auto& [value, at] : scratch_) offset[value] = at;
    for (Value& value : plan_.values) {
      const auto found = offset.find(value.storage);
      if (!value.persistent && found != offset.end()) value.offset = found->second;
    }
  }

  void settle_lifetimes() {
    for (Value& value : plan_.values) value.first = value.last = -1;
    const auto touch = [&](int index, int step) {
      Value& value = plan_.values[static_cast<size_t>(index)];
      if (value.first < 0) value.first = step;
      value.last = std::max(value.last, step);
    };
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for_values(plan_.steps[s], [&](int value) { touch(value, static_cast<int>(s)); });
    }
    // Memory that a copy out holds for some steps more.
    for (const Absence& absence : residency_.absences) {
      Lives& l = lives(absence.block);
      const size_t life = ended_[absence.block]++;
      const int root = life == 0 ? table_.root[static_cast<size_t>(absence.block)] : l.roots[life - 1];
      if (absence.released > absence.after) touch(root, new_index_[static_cast<size_t>(absence.released)]);
    }
  }

  Plan& plan_;
  const BlockTable& table_;
  const Residency& residency_;
  std::vector<Lives> lives_;
  std::map<int, std::vector<const Absence*>> leaving_, arriving_, repeating_;  ///< by old step
  std::map<int, size_t> host_offset_;                                          ///< by block
  std::map<int, size_t> ended_;                                                ///< by block: lives
  std::vector<Step>* old_steps_ = nullptr;
  std::vector<int> new_index_;                   ///< of the old steps so far
  std::vector<Operands> first_run_;              ///< the same
  std::vector<std::pair<int, size_t>> scratch_;  ///< of repeated steps: value and place
};

}  // namespace

void offload(Plan& plan, const Graph& graph, const NetOptions& options, size_t budget, size_t goal) {
  const BlockTable table = blocks_of(graph, plan, options.rates);
  ResidencyProblem problem = problem_of(plan, graph, options, table);
  Offloading& summary = plan.offloading;
  summary = {};
  summary.planned = true;
  summary.resident_arena_bytes = plan_residency(problem).arena_bytes;
  for (const double seconds : problem.step_seconds) summary.step_seconds += seconds;
  problem.budget = budget;
  problem.goal = std::min(goal, budget);
  const Residency residency = plan_residency(problem);
  for (const Absence& absence : residency.absences) ++(absence.repeated ? summary.repeated : summary.moved);
  summary.bytes_out = residency.bytes_out;
  summary.bytes_in = residency.bytes_in;
  summary.exposed_seconds = residency.exposed_seconds;
  summary.repeat_seconds = residency.repeat_seconds;
  Rewriter(plan, table, residency).run();
  order_copies(plan);
}

}  // namespace robusta
