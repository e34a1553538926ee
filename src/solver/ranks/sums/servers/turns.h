/// Groups that go their own ways, as the first server keeps account of them: whose gradients are taken next, which part
/// of the data a group takes, and in which iteration all of them do what one has asked for.
///
/// An iteration has as many tickets as there are groups, each for one part of its global batch. A group that is done
/// with one gets the next one that nobody has, so that a fast group takes more of them than a slow one (Dean et al.
/// 2012, "Large Scale Distributed Deep Networks", section 4.1). How late its gradients may come is bounded: by
/// `max_staleness` rounds of all groups more than where all take turns, hence by (max_staleness + 1) groups - 1 updates
/// (Ho et al. 2013, "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", counts rounds,
/// too). Pure bookkeeping, of one thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "solver/ranks/votes.h"

namespace robusta {

/// What a group is told when its gradients were taken.
struct Answer {
  Votes votes = {};      ///< its own; in step, those of all
  int64_t ticket = 0;    ///< of its next part of the data
  int64_t meeting = -1;  ///< the iteration that `asked` holds for
  Votes asked = {};
};

class Turns {
 public:
  Turns(int groups, int max_staleness);

  /// All groups begin with an iteration: each has the ticket of its own number.
  void begin(int64_t iteration);

  /// `waiting`: groups whose gradients are there, in the order in which they came. Which of them is taken next; -1:
  /// none, as another one's would come too late then.
  int next(std::span<const int> waiting) const;
  /// By how many updates since its answer this group's gradients come late.
  int64_t late(int group) const { return updates_ - of(group).answered_at; }
  /// Its gradients make an update, and it gets another ticket. `votes`: what it has to say.
  Answer take(int group, const Votes& votes);
  /// All tickets of the iteration are taken; what was asked for it is then told to nobody else.
  bool is_complete(int64_t iteration) const { return frontier_ >= (iteration + 1) * count(); }
  Votes end(int64_t iteration);

 private:
  struct Group {
    int64_t answered_at = 0;  ///< updates that were made then
    int64_t ticket = 0;
  };

  int64_t count() const { return static_cast<int64_t>(groups_.size()); }
  const Group& of(int group) const { return groups_[static_cast<size_t>(group)]; }
  /// That of the last ticket that somebody has: the first one whose end nobody passes without another answer.
  int64_t newest_iteration() const { return (next_ticket_ - 1) / count(); }
  void decide();

  std::vector<Group> groups_;
  const int64_t bound_;  ///< of late()
  int64_t updates_ = 0, next_ticket_ = 0;
  int64_t frontier_ = 0;      ///< all tickets before it are taken
  std::set<int64_t> beyond_;  ///< taken ones behind it
  int64_t meeting_ = -1;      ///< while something is decided; else -1
  Votes asked_, heard_;       ///< decided; not decided yet
};

/// Only what is asked for.
Votes requests_in(const Votes& votes);

/// By how many updates of others gradients came late, since the last report.
class Staleness {
 public:
  void add(int64_t updates);
  /// "on average 1.9, at most 4"; "" where nothing came.
  std::string describe() const;
  /// As numbers, of which others may have the sums.
  std::span<double> numbers() { return numbers_; }

 private:
  double numbers_[3] = {};  ///< how many came, by how many updates in all, and at most
};

}  // namespace robusta
