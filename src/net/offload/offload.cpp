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

  void run() {
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
    settle_lifetimes();
    plan_.arena_bytes = residency_.arena_bytes;
  }

 private:
  /// The value in which each member of a block is now, and the places of its lives.
  struct Lives {
    std::vector<size_t> stays;
    size_t now = 0;
    std::map<ValueId, ValueId> value;  ///< by the value of the first life; not there: itself
    std::vector<ValueId> roots;        ///< of the lives
  };

  /// Of a step, as values of their first lives.
  struct Operands {
    std::vector<ValueId> bottoms, tops;
    ValueId saved, scratch;
  };

  StepId first_use(const Absence& absence) const { return table_.blocks[absence.block].uses.front().step; }

  StepId made(const Absence& absence) const { return table_.blocks[absence.block].repeat->made; }

  /// One place per block: contents that are out at the same time are nearly all of them, halfway through a pass.
  void place_on_host(const Absence& absence) {
    if (absence.repeated || host_offset_.contains(absence.block)) return;
    host_offset_[absence.block] = plan_.offloading.host_bytes;
    plan_.offloading.host_bytes += align_up(table_.blocks[absence.block].bytes);
  }

  ValueId root_now(BlockId block) {
    Lives& l = lives_[block];
    return l.now == 0 ? table_.root[block] : l.roots[l.now - 1];
  }

  Step& push_copy(StepKind kind, const Absence& absence, bool backward) {
    Step& step = plan_.steps.emplace_back();
    step.kind = kind;
    step.unit = (*old_steps_)[first_use(absence)].unit;
    step.in_backward = backward;
    step.host_offset = host_offset_[absence.block];
    return step;
  }

  void leave(const Absence& absence, bool backward) {
    const ValueId root = root_now(absence.block);
    push_copy(StepKind::kOffload, absence, backward).bottoms = {root};
  }

  void fetch(const Absence& absence, bool backward) {
    begin_life(absence.block);
    const ValueId root = root_now(absence.block);
    push_copy(StepKind::kPrefetch, absence, backward).tops = {root};
  }

  void repeat(const Absence& absence, bool backward) {
    begin_life(absence.block);
    for (const StepId first_run : table_.repeat_steps[absence.block]) {
      run_again(first_run, absence.scratch_offset, backward);
    }
  }

  void run_again(StepId first_run, size_t scratch_offset, bool backward) {
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
  void begin_life(BlockId block) {
    Lives& l = lives_[block];
    const ValueId root = clone(table_.root[block]);
    plan_.values[root].bytes = table_.blocks[block].bytes;
    l.value.clear();
    l.value[table_.root[block]] = root;
    l.roots.push_back(root);
    ++l.now;
  }

  ValueId clone(ValueId value) {
    Value again = plan_.values[value];
    again.storage = plan_.values.end_id();
    return plan_.values.push_back(std::move(again));
  }

  void use_lives(Step& step) {
    for (auto* values : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
      for (ValueId& value : *values) use_life(value);
    }
    use_life(step.saved);
    use_life(step.scratch);
  }

  void use_life(ValueId& value) {
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

  void place() {
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

  void settle_lifetimes() {
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

  Plan& plan_;
  const BlockTable& table_;
  const Residency& residency_;
  IdVector<BlockId, Lives> lives_;
  std::map<StepId, std::vector<const Absence*>> leaving_, arriving_, repeating_;  ///< by old step
  std::map<BlockId, size_t> host_offset_;
  std::map<BlockId, size_t> ended_;  ///< lives
  IdVector<StepId, Step>* old_steps_ = nullptr;
  IdVector<StepId, StepId> new_index_;               ///< of the old steps so far
  IdVector<StepId, Operands> first_run_;             ///< the same
  std::vector<std::pair<ValueId, size_t>> scratch_;  ///< of repeated steps: value and place
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
