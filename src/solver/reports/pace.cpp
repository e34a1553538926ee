// The middle rank is the measure, not the mean: one very slow rank would move that.
#include "solver/reports/pace.h"

#include <algorithm>

namespace robusta {
namespace {

double middle_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

Slowest slowest_of(std::span<const double> computing) {
  if (computing.size() < 2) return {};
  const auto most = std::max_element(computing.begin(), computing.end());
  return {static_cast<int>(most - computing.begin()), *most, middle_of(computing)};
}

std::vector<double> gather_computing(Ranks& ranks, const Speed& mine) { return ranks.gather(mine.computing()); }

std::vector<int> SlowRanks::check(std::span<const double> computing) {
  times_slow_.resize(computing.size(), 0);
  if (computing.empty()) return {};
  const double limit = middle_of(computing) * (1 + kSlowLag);
  std::vector<int> slow;
  for (size_t rank = 0; rank < computing.size(); ++rank) {
    times_slow_[rank] = computing[rank] > limit ? times_slow_[rank] + 1 : 0;
    if (times_slow_[rank] >= kChecks) slow.push_back(static_cast<int>(rank));
  }
  return slow;
}

}  // namespace robusta
