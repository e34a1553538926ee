/// Groups that go their own ways for a while, as the first server keeps account of them.
///
/// A vote to stop or for a snapshot has to reach all groups before the iteration that it holds for: the first one that
/// no group has been answered for yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "solver/ranks/votes.h"

namespace robusta {

class Decisions {
 public:
  /// A group votes in its round.
  void hear(const Votes& votes);
  /// The votes with which a group ends its round `round`: its own, and what is decided for that.
  Votes answer(const Votes& own, int64_t round);
  /// What is decided for a round that all have ended.
  Votes decided(int64_t round) const { return round == meeting_ ? asked_ : none(); }

 private:
  static Votes none() { return {.ranks = 0}; }

  Votes asked_ = none();
  int64_t meeting_ = -1;  ///< the round that it holds for
  int64_t open_ = 0;      ///< the first round that nobody has been answered for
};

/// By how many updates of others gradients came late, since the last report.
class Staleness {
 public:
  void add(int64_t updates) {
    ++count_;
    sum_ += static_cast<double>(updates);
    most_ = std::max(most_, updates);
  }
  /// "on average 1.9, at most 4"; "" where nothing came.
  std::string take();

 private:
  int64_t count_ = 0, most_ = 0;
  double sum_ = 0;
};

}  // namespace robusta
