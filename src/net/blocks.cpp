#include "net/blocks.h"

#include <algorithm>

#include "net/step_cost.h"

namespace robusta {
namespace {

class BlockBuilder {
 public:
  BlockBuilder(const Graph& graph, const Plan& plan, const MachineRates& rates)
      : graph_(graph), plan_(plan), rates_(rates) {}

  BlockTable build() {
    number_blocks();
    for (size_t s = 0; s < plan_.steps.size(); ++s) add_uses(static_cast<int>(s), plan_.steps[s]);
    for (size_t s = 0; s < plan_.steps.size(); ++s) mark_repeatable(static_cast<int>(s), plan_.steps[s]);
    return std::move(table_);
  }

 private:
  int block_of(int value) const { return value < 0 ? -1 : table_.block_of[static_cast<size_t>(value)]; }
  const Booking* booking(const Step& step) const {
    if (step.kind != StepKind::kForward && step.kind != StepKind::kBackward) return nullptr;
    return &plan_.units[static_cast<size_t>(step.unit)].kernel->booking();
  }

  void number_blocks() {
    std::vector<int> number(plan_.values.size(), -1);
    table_.block_of.assign(plan_.values.size(), -1);
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      const Value& value = plan_.values[v];
      if (value.persistent || value.first < 0) continue;
      int& block = number[static_cast<size_t>(value.storage)];
      if (block < 0) {
        block = static_cast<int>(table_.blocks.size());
        table_.blocks.emplace_back();
        table_.root.push_back(value.storage);
      }
      table_.block_of[v] = block;
      size_t& bytes = table_.blocks[static_cast<size_t>(block)].bytes;
      bytes = std::max(bytes, value.bytes);
    }
  }

  void add_uses(int s, const Step& step) {
    const bool forward = !step.in_backward || step.kind == StepKind::kReorder;
    for (const int value : step.bottoms) use(s, value, false);
    for (const int value : step.top_diffs) use(s, value, false);
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
      const int a = from[static_cast<size_t>(alias.from)], b = results[to];
      return a >= 0 && b >= 0 && storage(a) == storage(b);
    });
  }
  int storage(int value) const { return plan_.values[static_cast<size_t>(value)].storage; }

  void use(int s, int value, bool writes) {
    const int block = block_of(value);
    if (block < 0) return;
    auto& uses = table_.blocks[static_cast<size_t>(block)].uses;
    if (uses.empty() || uses.back().step != s) uses.push_back({s, false});
    uses.back().writes = uses.back().writes || writes;
  }

  /// A step with one result that a kernel can make again, from operands that lie elsewhere.
  void mark_repeatable(int s, const Step& step) {
    const Booking* booked = step.kind == StepKind::kForward ? booking(step) : nullptr;
    const bool again = step.kind == StepKind::kReorder || (booked && booked->repeatable);
    if (!again || step.tops.size() != 1 || block_of(step.tops[0]) < 0) return;
    MemoryBlock& block = table_.blocks[static_cast<size_t>(block_of(step.tops[0]))];
    if (block.uses.front().step != s) return;
    MemoryBlock::Repeat repeat;
    repeat.seconds = step_seconds(graph_, plan_, step, rates_);
    if (step.scratch >= 0) repeat.scratch = plan_.values[static_cast<size_t>(step.scratch)].bytes;
    std::vector<int> needs = step.bottoms;
    needs.push_back(step.saved);
    for (const int value : needs) {
      if (block_of(value) >= 0) repeat.needs.push_back(block_of(value));
    }
    std::sort(repeat.needs.begin(), repeat.needs.end());
    repeat.needs.erase(std::unique(repeat.needs.begin(), repeat.needs.end()), repeat.needs.end());
    block.repeat = std::move(repeat);
  }

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
