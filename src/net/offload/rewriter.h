/// Turns a residency into steps of a plan. Internal to offload.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "memory/residency.h"
#include "net/offload/blocks.h"
#include "net/plan/plan.h"

namespace robusta {

/// Rewrites the steps of a plan as a residency says. A content that comes back begins another life of its block: a
/// value of its own, at another place, which all steps from there on use.
class Rewriter {
 public:
  Rewriter(Plan& plan, const BlockTable& table, const Residency& residency);
  void run();

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

  StepId first_use(const Absence& absence) const;
  StepId made(const Absence& absence) const;
  void place_on_host(const Absence& absence);
  ValueId root_now(BlockId block);
  Step& push_copy(StepKind kind, const Absence& absence, bool backward);
  void leave(const Absence& absence, bool backward);
  void fetch(const Absence& absence, bool backward);
  void repeat(const Absence& absence, bool backward);
  void run_again(StepId first_run, size_t scratch_offset, bool backward);
  void begin_life(BlockId block);
  ValueId clone(ValueId value);
  void use_lives(Step& step);
  void use_life(ValueId& value);
  void place();
  void find_lifetimes();

  Plan& plan_;
  const BlockTable& table_;
  const Residency& residency_;
  IdVector<BlockId, Lives> lives_;
  std::map<StepId, std::vector<const Absence*>> leaving_, arriving_, repeating_;  ///< by old step
  std::map<BlockId, size_t> host_offset_;
  std::map<BlockId, size_t> ended_;                  ///< lives
  IdVector<StepId, Step>* old_steps_ = nullptr;      ///< as they were planned, while the new list is made
  IdVector<StepId, StepId> new_index_;               ///< of the old steps so far
  IdVector<StepId, Operands> first_run_;             ///< the same
  std::vector<std::pair<ValueId, size_t>> scratch_;  ///< of repeated steps: value and place
};

}  // namespace robusta
