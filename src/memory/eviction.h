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
  const std::vector<size_t>& alive() const { return alive_; }

 private:
  enum class Away : char { kNo, kCopied, kRepeated };
  struct Gap {
    double score = 0;
    int block = 0, after = 0, before = 0;  ///< steps
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
    std::vector<int> blocks;
    size_t scratch = 0;
  };

  void count_alive();
  void change(size_t bytes, int after, int before, bool add);
  void collect(std::vector<Gap>& gaps) const;
  void collect(int block, size_t use, std::vector<Gap>& gaps) const;
  bool eligible(int block, const BlockUse& from, const BlockUse& to) const;
  bool still_there(const Gap& gap) const;
  Gap rated(int block, int after, int before) const;
  double relief(const Gap& gap) const;
  double copy_seconds(const Gap& gap) const;
  bool host_has(int block, size_t use) const;
  bool repeatable(int block, int before, int depth) const;
  bool available(const MemoryBlock::Need& need, int before, int depth) const;
  bool alive_after_all(int block, int step) const;
  double repeat_seconds(int block, int before) const;
  Extra extra(int block, int before) const;
  void add_extra(int block, int before, Extra& extra) const;
  size_t bytes_of(const Extra& extra) const;
  double burden(const Extra& extra, int before) const;
  void accept(const Gap& gap, std::vector<Gap>& news);
  void repeat_at(int block, int step, std::vector<Gap>& news);
  void need_at(int block, int step, std::vector<Gap>& news);
  void take_back_needless();
  size_t use_at_or_before(int block, int step) const;
  const MemoryBlock& block(int index) const { return problem_.blocks[static_cast<size_t>(index)]; }
  Track& track(int index) { return tracks_[static_cast<size_t>(index)]; }
  const Track& track(int index) const { return tracks_[static_cast<size_t>(index)]; }

  const ResidencyProblem& problem_;
  bool repeats_;
  size_t goal_ = 0;
  std::vector<double> start_;  ///< of each step, in seconds; the end of the last behind them
  std::vector<Track> tracks_;
  std::vector<size_t> alive_;
  std::vector<size_t> used_;  ///< bytes that each step itself uses: these cannot be away
  std::vector<Gap> accepted_;
};

}  // namespace robusta
