/// Chooses what is away, and when. Internal to plan_residency.
#pragma once

#include <vector>

#include "memory/residency.h"

namespace robusta {

/// Makes room greedily: the gap between two uses goes first that frees most of the bytes that are too many, per second
/// that it costs to bring its content back. Gaps are as wide as they can be: a content leaves right after its last use
/// and is back for the next one.
class Eviction {
 public:
  Eviction(const ResidencyProblem& problem, bool may_repeat);

  /// Comes down to `goal` bytes alive at every step, as far as that is possible.
  void reduce_to(size_t goal);
  /// By block, then by time.
  std::vector<Absence> absences() const;
  /// Bytes alive per step.
  const IdVector<StepId, size_t>& alive() const { return alive_; }

 private:
  enum class Away : char { kNo, kCopied, kRepeated };
  struct Gap {
    double score = 0;
    BlockId block{};
    StepId after{}, before{};
    bool repeated = false;
    bool operator<(const Gap& other) const;
  };
  /// A block's uses, those for repeated steps included, and where it is after each of them.
  struct Track {
    std::vector<BlockUse> uses;
    std::vector<Away> away;
  };
  /// What a repeated step adds to what the step after it uses.
  struct Extra {
    std::vector<BlockId> blocks;
    size_t scratch = 0;
  };

  void count_alive();
  void change(size_t bytes, StepId after, StepId before, bool add);
  void collect(std::vector<Gap>& gaps) const;
  void collect(BlockId block, size_t use, std::vector<Gap>& gaps) const;
  bool eligible(BlockId block, const BlockUse& from, const BlockUse& to) const;
  bool still_there(const Gap& gap) const;
  Gap rated(BlockId block, StepId after, StepId before) const;
  double relief(const Gap& gap) const;
  double copy_seconds(const Gap& gap) const;
  bool host_has(BlockId block, size_t use) const;
  bool repeatable(BlockId block, StepId before, int depth) const;
  bool available(const MemoryBlock::Need& need, StepId before, int depth) const;
  bool alive_after_all(BlockId block, StepId step) const;
  double repeat_seconds(BlockId block, StepId before) const;
  Extra extra(BlockId block, StepId before) const;
  void add_extra(BlockId block, StepId before, Extra& extra) const;
  size_t bytes_of(const Extra& extra) const;
  double burden(const Extra& extra, StepId before) const;
  void accept(const Gap& gap, std::vector<Gap>& opened);
  void repeat_at(BlockId block, StepId step, std::vector<Gap>& opened);
  void need_at(BlockId block, StepId step, std::vector<Gap>& opened);
  void take_back_needless();
  size_t use_at_or_before(BlockId block, StepId step) const;
  const MemoryBlock& block(BlockId id) const { return problem_.blocks[id]; }

  const ResidencyProblem& problem_;
  bool repeats_;                    ///< steps may be computed again
  size_t goal_ = 0;                 ///< bytes that may be alive at once
  IdVector<StepId, double> start_;  ///< of each step, in seconds; behind them the end of the last
  IdVector<BlockId, Track> tracks_;
  IdVector<StepId, size_t> alive_;  ///< bytes, of each step
  IdVector<StepId, size_t> used_;   ///< bytes that each step itself uses: these cannot be away
  std::vector<Gap> accepted_;       ///< in the order of the choices
};

/// By how much too many bytes are alive.
constexpr size_t excess(size_t bytes, size_t goal) { return bytes > goal ? bytes - goal : 0; }

}  // namespace robusta
