// Votes are few: of those that come for one round the sums are kept.
#include "solver/ranks/sums/servers/late.h"

#include <cmath>

#include "base/str.h"

namespace robusta {
namespace {

void add(Votes& sum, const Votes& votes) {
  sum.stop += votes.stop;
  sum.snapshot += votes.snapshot;
  sum.out_of_time += votes.out_of_time;
}

}  // namespace

void Decisions::hear(const Votes& votes) {
  if (votes.stop == 0 && votes.snapshot == 0 && votes.out_of_time == 0) return;
  if (meeting_ < open_) asked_ = none(), meeting_ = open_;
  add(asked_, votes);
}

Votes Decisions::answer(const Votes& own, int64_t round) {
  open_ = std::max(open_, round + 1);
  Votes votes = own;
  votes.stop = votes.snapshot = votes.out_of_time = 0;
  add(votes, decided(round));
  return votes;
}

std::string Staleness::take() {
  if (count_ == 0) return "";
  const double mean = std::round(100 * sum_ / static_cast<double>(count_)) / 100;
  const std::string text = str("on average ", mean, ", at most ", most_);
  *this = {};
  return text;
}

}  // namespace robusta
