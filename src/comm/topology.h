/// Which ranks share a host, and the dimensions over which gradients are reduced.
///
/// Rank files place rank x*Y*Z + y*Z + z (IBM's rule: x within a host, y hosts of a rack, z racks), so the ranks of a
/// host are Y*Z apart. Groups follow the hosts that ranks really run on where each has X of them.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/ddl_options.h"

namespace robusta {

/// One dimension as one rank sees it.
struct Dimension {
  std::string name;        ///< "X", "Y", "Z", "W"
  std::vector<int> ranks;  ///< of this rank's group in the world, in order
  int position = 0;        ///< of this rank among them
  bool one_host = false;   ///< all of them run on this rank's host
};

struct Topology {
  std::vector<std::string> hosts;       ///< of each rank
  std::vector<int> dims;                ///< X, Y, ...; their product is the number of ranks
  std::vector<Dimension> dimensions;    ///< innermost first; those of one rank are left out
  int local_rank = 0, local_ranks = 1;  ///< among the ranks of this host, in their order
  std::string warning;  ///< why the hosts do not fit the dims' rule, with the rank file that would; else empty

  /// This rank's group in X, the innermost dimension; empty where X is 1.
  std::vector<int> inner_ranks() const;
  const std::string& host_of(int rank) const { return hosts[static_cast<size_t>(rank)]; }
  /// "4x2x1: 4 ranks on each of 2 hosts"
  std::string describe() const;
};

/// Collective. Without dims in the options: X is the number of ranks per host where that is equal, else all ranks form
/// one dimension. Throws Error{kUsage} for a wrong product.
Topology find_topology(Communicator& world, const DdlOptions& options);
/// The same from the hosts of all ranks, for tests and for other ranks' views.
Topology topology_of(const std::vector<std::string>& hosts, int rank, const DdlOptions& options);

}  // namespace robusta
