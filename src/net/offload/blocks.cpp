// Values that share memory are one block. A step uses a block if it uses any value in it, and writes it unless its
// result is an operand of the same content in the same memory.

#include "net/offload/blocks.h"

#include <algorithm>

#include "net/plan/step_cost.h"

namespace robusta {
namespace {

class BlockBuilder {
 public:
  BlockBuilder(const Graph& graph, const Plan& plan, const MachineRates& rates)
      : graph_(graph), plan_(plan), rates_(rates) {}

  BlockTable build() {
    number_blocks();
    for (const StepId s : plan_.steps.ids()) add_uses(s, plan_.steps[s]);
    table_.repeat_steps.resize(table_.blocks.size());
    for (const BlockId b : table_.blocks.ids()) mark_repeatable(b);
    return std::move(table_);
  }

 private:
  BlockId block_of(ValueId value) const { return value ? table_.block_of[value] : BlockId::none(); }
  const Booking* booking(const Step& step) const {
    if (step.kind != StepKind::kForward && step.kind != StepKind::kBackward) return nullptr;
    return &plan_.units[step.unit].kernel->booking();
  }

  void number_blocks() {
    IdVector<ValueId, BlockId> number(plan_.values.size());
    table_.block_of.resize(plan_.values.size());
    for (const ValueId v : plan_.values.ids()) {
      const Value& value = plan_.values[v];
      if (value.persistent || !value.first) continue;
      BlockId& block = number[value.storage];
      if (!block) {
        block = table_.blocks.push_back({});
        table_.root.push_back(value.storage);
      }
      table_.block_of[v] = block;
      size_t& bytes = table_.blocks[block].bytes;
      bytes = std::max(bytes, value.bytes);
    }
  }

  void add_uses(StepId s, const Step& step) {
    const bool forward = !step.in_backward || step.kind == StepKind::kReorder;
    for (const ValueId value : step.bottoms) use(s, value, false);
    for (const ValueId value : step.top_diffs) use(s, value, false);
    for (size_t t = 0; t < step.tops.size(); ++t) use(s, step.tops[t], forward && !passed_on(step, true, t));
    for (size_t b = 0; b < step.bottom_diffs.size(); ++b) use(s, step.bottom_diffs[b], !passed_on(step, false, b));
    use(s, step.saved, true);  // backward may keep something in it, too
    use(s, step.scratch, true);
  }

  /// Whether a result is an operand of the same content in the same memory: then nothing is written.
  bool passed_on(const Step& step, bool forward, size_t to) const {
    const Booking* booked = booking(step);
    if (!booked) return false;
    const auto& aliases = forward ? booked->forward_aliases : booked->backward_aliases;
    const auto &from = forward ? step.bottoms : step.top_diffs, &results = forward ? step.tops : step.bottom_diffs;
    return std::any_of(aliases.begin(), aliases.end(), [&](const Alias& alias) {
      if (!alias.same_content || alias.to != static_cast<int>(to)) return false;
      const ValueId a = from[alias.from], b = results[to];
      return a && b && storage(a) == storage(b);
    });
  }
  ValueId storage(ValueId v) const { return value(v).storage; }

  void use(StepId s, ValueId value, bool writes) {
    const BlockId block = block_of(value);
    if (!block) return;
    auto& uses = table_.blocks[block].uses;
    if (uses.empty() || uses.back().step != s) uses.push_back({s, false});
    uses.back().writes = uses.back().writes || writes;
  }

  /// The first steps that write a block, as long as each can run again: its results lie in this block alone, and what
  /// it reads elsewhere may still be there.
  void mark_repeatable(BlockId index) {
    MemoryBlock& block = table_.blocks[index];
    MemoryBlock::Repeat repeat;
    std::vector<StepId>& steps = table_.repeat_steps[index];
    for (const BlockUse& use : block.uses) {
      const Step& step = plan_.steps[use.step];
      if (!use.writes) continue;
      if (!can_run_again(step, index)) break;
      steps.push_back(use.step);
      repeat.made = use.step;
      repeat.seconds += step_seconds(graph_, plan_, step, rates_);
      if (step.scratch) repeat.scratch = std::max(repeat.scratch, value(step.scratch).bytes);
      add_needs(index, use.step, step, repeat);
    }
    if (!steps.empty()) block.repeat = std::move(repeat);
  }

  bool can_run_again(const Step& step, BlockId index) const {
    const Booking* booked = step.kind == StepKind::kForward ? booking(step) : nullptr;
    const bool cheap = step.kind == StepKind::kReorder || (booked && booked->repeatable);
    return cheap && step.tops.size() == 1 && block_of(step.tops[0]) == index && block_of(step.saved) != index;
  }

  void add_needs(BlockId index, StepId s, const Step& step, MemoryBlock::Repeat& repeat) const {
    std::vector<ValueId> values = step.bottoms;
    values.push_back(step.saved);
    for (const ValueId v : values) {
      const BlockId need = block_of(v);
      const auto known = [&](const MemoryBlock::Need& other) { return other.block == need && other.step == s; };
      if (!need || need == index || std::any_of(repeat.needs.begin(), repeat.needs.end(), known)) continue;
      repeat.needs.push_back({need, s});
    }
  }

  const Value& value(ValueId v) const { return plan_.values[v]; }

  const Graph& graph_;
  const Plan& plan_;
  const MachineRates& rates_;
  BlockTable table_;
};

}  // namespace

BlockTable blocks_of(const Graph& graph, const Plan& plan, const MachineRates& rates) {
  return BlockBuilder(graph, plan, rates).build();
}

}  // namespace robusta
