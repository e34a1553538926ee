/// Who watches whom.
///
/// The first rank of each host leads it; the other ranks of the host are linked to it. Leaders form a tree in the order
/// in which hosts first appear, with rank 0 at the root. So a process has at most (ranks of its host - 1) + kArity + 1
/// links whatever the size of the job, and a verdict passes any job in a few hops.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "comm/liveness/rank_id.h"

namespace robusta::liveness {

inline constexpr int kArity = 8;  ///< so 584 hosts lie within three hops of the root

/// The links of one rank.
struct Neighbours {
  RankId parent;                 ///< none: the root, rank 0
  std::vector<RankId> children;  ///< in the order of ranks
  std::vector<RankId> remote;    ///< those of parent and children that lie on other hosts
  std::vector<RankId> leaves;    ///< those of the children that have no children
  int levels = 1;                ///< of the whole tree, the root included
  RankId heir;                   ///< the rank that reports when rank 0 is the one at fault; none: a job of one rank
};

inline bool contains(const std::vector<RankId>& ranks, RankId rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// `hosts` names the host of each rank.
Neighbours find_neighbours(const IdVector<RankId, std::string>& hosts, RankId rank);

}  // namespace robusta::liveness
