// Values share memory in two ways: one takes over the place of another that its kernel may overwrite or pass on
// (in-place computation), and values whose lifetimes do not meet lie at the same offsets (memory/placement.h).
//
// What always holds: a place is overwritten only after the last read of what was in it, values that outlive the pass
// share with nothing that does not, and gradients that outlive it, which a program may write, lie apart from each
// other.

#include "net/plan/sharing.h"

#include <algorithm>
#include <set>

#include "memory/placement.h"

namespace robusta {
namespace {

class Sharing {
 public:
  explicit Sharing(Plan& plan) : plan_(plan), members_(plan.values.size()) {
    for (const ValueId v : plan.values.ids()) {
      plan.values[v].storage = v;
      members_[v] = {v};
    }
  }

  void apply_aliases() {
    for (const StepId s : plan_.steps.ids()) {
      const Step& step = plan_.steps[s];
      if (step.kind != StepKind::kForward && step.kind != StepKind::kBackward) continue;
      const Booking& booking = plan_.units[step.unit].kernel->booking();
      const bool forward = step.kind == StepKind::kForward;
      overwritten_.clear();
      for (const Alias& alias : forward ? booking.forward_aliases : booking.backward_aliases) {
        const auto& from = forward ? step.bottoms : step.top_diffs;
        const auto& to = forward ? step.tops : step.bottom_diffs;
        consider(s, step, from[static_cast<size_t>(alias.from)], to[static_cast<size_t>(alias.to)], alias.same_content);
      }
      if (!forward && booking.equal_bottom_diffs) unite(step.bottom_diffs);
    }
  }

 private:
  Value& value(ValueId v) { return plan_.values[v]; }

  void consider(StepId s, const Step& step, ValueId from, ValueId to, bool same_content) {
    if (!from || !to || value(to).storage != to || members_[to].size() > 1) return;
    const ValueId root = value(from).storage;
    if (step.kind == StepKind::kBackward && value(to).persistent) return;
    if (value(root).lent && value(to).persistent) return;  // the batch goes, the value stays
    if (root == to || value(to).bytes > value(root).bytes || overwritten_.contains(root)) return;
    if (!same_content && !may_overwrite(s, step, from, root)) return;
    if (!same_content) overwritten_.insert(root);
    value(to).storage = root;
    members_[root].push_back(to);
  }

  /// Equal values go where the first of them is.
  void unite(const std::vector<ValueId>& equals) {
    ValueId first;
    for (const ValueId v : equals) {
      if (v && value(v).persistent) continue;
      if (!first) first = v;
      if (!v || v == first || value(v).storage != v || members_[v].size() > 1) continue;
      const ValueId root = value(first).storage;
      if (root == v || value(v).bytes > value(root).bytes) continue;
      value(v).storage = root;
      members_[root].push_back(v);
    }
  }

  /// The content may go if nobody reads it after this step and this step reads it only through `from`.
  bool may_overwrite(StepId s, const Step& step, ValueId from, ValueId root) {
    for (const ValueId member : members_[root]) {
      if (value(member).persistent || value(member).last > s) return false;
    }
    for (const auto* operands : {&step.bottoms, &step.tops, &step.bottom_diffs, &step.top_diffs}) {
      for (const ValueId operand : *operands) {
        if (operand && operand != from && value(operand).storage == root) return false;
      }
    }
    return std::count(step.bottoms.begin(), step.bottoms.end(), from) +
               std::count(step.top_diffs.begin(), step.top_diffs.end(), from) ==
           1;
  }

  Plan& plan_;
  IdVector<ValueId, std::vector<ValueId>> members_;  ///< per storage: the values in it
  std::set<ValueId> overwritten_;                    ///< storages this step writes over
};

/// Per value that others share the memory of: from the first to the last use of any of them.
std::vector<Lifetime> lifetimes(const Plan& plan, bool persistent) {
  std::vector<Lifetime> lives(plan.values.size());
  for (const Value& value : plan.values) {
    if (value.persistent != persistent || (!value.first && !persistent)) continue;
    if (plan.values[value.storage].lent) continue;
    Lifetime& life = lives[value.storage.index()];
    const bool fresh = life.bytes == 0;
    life.bytes = std::max(life.bytes, value.bytes);
    life.first = fresh ? value.first : std::min(life.first, value.first);
    life.last = fresh ? value.last : std::max(life.last, value.last);
  }
  return lives;
}

}  // namespace

void share_storage(Plan& plan, bool share_memory) {
  Sharing sharing(plan);
  if (share_memory) sharing.apply_aliases();
  // What shares with a persistent value is persistent.
  IdVector<ValueId, bool> stays(plan.values.size(), false);
  for (const Value& value : plan.values) {
    if (value.persistent) stays[value.storage] = true;
  }
  for (Value& value : plan.values) value.persistent = stays[value.storage];
}

void keep_for_backward(Plan& plan) {
  IdVector<ValueId, bool> stays(plan.values.size(), false);
  for (const Value& value : plan.values) {
    const bool crosses = value.first && value.first < plan.backward_begin && value.last >= plan.backward_begin;
    if (crosses) stays[value.storage] = true;
  }
  for (Value& value : plan.values) value.persistent = value.persistent || stays[value.storage];
}

void place_persistent(Plan& plan) {
  const Placement kept = place_apart(lifetimes(plan, true));
  plan.persistent_bytes = kept.bytes;
  for (Value& value : plan.values) {
    if (value.persistent) value.offset = kept.offsets[value.storage.index()];
  }
}

void place_transient(Plan& plan, bool share_memory) {
  const std::vector<Lifetime> lives = lifetimes(plan, false);
  const Placement shared = share_memory ? place(lives) : place_apart(lives);
  plan.arena_bytes = shared.bytes;
  for (Value& value : plan.values) {
    if (!value.persistent) value.offset = shared.offsets[value.storage.index()];
  }
}

}  // namespace robusta
