/// Which rank holds the others up.
///
/// A training over ranks goes at the pace of the slowest one; the others wait for it in their reductions. So what tells
/// the ranks apart is the time that each computes: all of an iteration but the waits for data and for gradients.
#pragma once

#include <span>
#include <vector>

#include "solver/ranks/ranks.h"
#include "solver/reports/speed_meter.h"

namespace robusta {

/// Seconds of computing of one rank, beside those of the middle one.
struct Slowest {
  int rank = -1;  ///< -1: there is only one
  double seconds = 0, middle = 0;

  /// 0.1: it takes 10 % longer than the middle one.
  double lag() const { return middle > 0 ? seconds / middle - 1 : 0; }
};

/// `computing`: of all ranks. Of equals the lowest.
Slowest slowest_of(std::span<const double> computing);

/// Seconds of computing of all ranks. Collective, O(ranks): not for every iteration.
std::vector<double> gather_computing(Ranks& ranks, const Speed& mine);

/// Ranks that stay slow, for -rebind_iter: one slow check may be chance.
class SlowRanks {
 public:
  static constexpr int kChecks = 3;        // IBM's number
  static constexpr double kSlowLag = 0.1;  // beyond what equal processors differ by

  /// One more check. Returns those that were slow in the last kChecks.
  std::vector<int> check(std::span<const double> computing);

 private:
  std::vector<int> times_slow_;  ///< per rank, in a row
};

}  // namespace robusta
