// Whoever waits is served in the order of arrival as long as everybody else can still be served before his deadline:
// earliest deadline first (Liu and Layland 1973, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time
// Environment", section 7), where each update takes one unit of time.
#include "solver/ranks/sums/servers/turns.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"

namespace robusta {
namespace {

const Votes kNothing{.ranks = 0};

bool asks(const Votes& votes) { return votes.stop > 0 || votes.snapshot > 0 || votes.out_of_time > 0; }

}  // namespace

Votes requests_in(const Votes& votes) {
  return {.ranks = 0, .stop = votes.stop, .snapshot = votes.snapshot, .out_of_time = votes.out_of_time};
}

Turns::Turns(int groups, int max_staleness)
    : groups_(static_cast<size_t>(groups)),
      bound_((int64_t{max_staleness} + 1) * groups - 1),
      asked_(kNothing),
      heard_(kNothing) {}

void Turns::begin(int64_t iteration) {
  frontier_ = next_ticket_ = iteration * count();
  beyond_.clear();
  meeting_ = -1;
  for (Group& group : groups_) group = {.answered_at = updates_, .ticket = next_ticket_++};
}

int Turns::next(std::span<const int> waiting) const {
  std::vector<int64_t> deadlines;
  for (const int group : waiting) {
    deadlines.clear();
    for (int other = 0; other < static_cast<int>(groups_.size()); ++other) {
      if (other != group) deadlines.push_back(of(other).answered_at + bound_);
    }
    std::ranges::sort(deadlines);
    // The others come one by one after this update, the i-th of them with i + 1 updates before it.
    bool in_time = true;
    for (size_t i = 0; i < deadlines.size(); ++i)
      in_time = in_time && deadlines[i] >= updates_ + 1 + static_cast<int64_t>(i);
    if (in_time) return group;
  }
  return -1;
}

Answer Turns::take(int group, const Votes& votes) {
  Group& taken = groups_[static_cast<size_t>(group)];
  beyond_.insert(taken.ticket);
  while (!beyond_.empty() && *beyond_.begin() == frontier_) {
    beyond_.erase(beyond_.begin());
    ++frontier_;
  }
  heard_ = heard_ + requests_in(votes);
  decide();
  ++updates_;
  taken = {.answered_at = updates_, .ticket = next_ticket_++};
  Votes own = votes;
  own.stop = own.snapshot = own.out_of_time = 0;
  return {.votes = own, .ticket = taken.ticket, .meeting = meeting_, .asked = asked_};
}

/// One thing after the other: who has passed a meeting knows what was decided for it, and no more is added.
void Turns::decide() {
  if (meeting_ >= 0 || !asks(heard_)) return;
  meeting_ = newest_iteration();
  asked_ = heard_;
  heard_ = kNothing;
}

Votes Turns::end(int64_t iteration) {
  if (iteration != meeting_) return kNothing;
  const Votes asked = asked_;
  meeting_ = -1;
  asked_ = kNothing;
  decide();
  return asked;
}

void Staleness::add(int64_t updates) {
  auto& [count, sum, most] = numbers_;
  const auto late = static_cast<double>(updates);
  ++count;
  sum += late;
  most = std::max(most, late);
}

std::string Staleness::describe() const {
  const auto& [count, sum, most] = numbers_;
  return count > 0 ? str("on average ", std::round(100 * sum / count) / 100, ", at most ", most) : "";
}

}  // namespace robusta
