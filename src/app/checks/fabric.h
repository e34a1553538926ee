/// Whether the ranks reach each other, and how fast: short exchanges and sums, dimension by dimension.
#pragma once

#include <string>
#include <vector>

#include "solver/ranks/ranks.h"

namespace robusta {

/// Messages between ranks 1, 2, 4, ... apart, both ways. Collective. What rank 0 returns says how long the slowest
/// took.
std::string check_reachability(Ranks& ranks);

/// Sums of one size over one dimension, all of its groups at once.
struct FabricSpeed {
  double bytes = 0;                 ///< that each rank has
  double fastest = 0, slowest = 0;  ///< seconds, of the groups
  int slowest_rank = 0;             ///< a rank of that group

  /// What each rank sends and receives, per second: 2(n-1)/n of the data.
  double gb_per_second(int members) const {
    return slowest > 0 ? 2.0 * (members - 1) / members * bytes / slowest / 1e9 : 0;
  }
};

struct FabricDimension {
  std::string name;  ///< "X"
  int members = 1;   ///< ranks of each of its groups
  bool one_host = false;
  std::vector<FabricSpeed> speeds;
};

/// Sums of some sizes over each dimension; about two seconds for each. Collective; the same on all ranks.
std::vector<FabricDimension> measure_fabric(Ranks& ranks);

/// "64 KB 0.12 ms, 16 MB 25 ms = 1.3 GB/s"
std::string describe(const FabricDimension& dimension);

}  // namespace robusta
