/// The NUMA nodes of this host: processors that have memory of their own beside them. Mostly a node is a socket.
#pragma once

#include <string>
#include <vector>

#include "comm/affinity/cores.h"

namespace robusta {

struct NumaNode {
  int id = 0;
  Cores cores;  ///< those that may be used
};

/// The nodes that have some of these processors, by their ids; what a node has beyond them (offline, or another's by
/// cpuset or affinity) is left out, and so are nodes of memory alone. Where the system tells of no node, or of none
/// that has such processors, all are one node. Processors that no node claims belong to none. `system`: where sysfs has
/// the nodes.
std::vector<NumaNode> numa_nodes(const Cores& allowed, const std::string& system = "/sys/devices/system/node");

/// The processors of each of so many ranks: those of a node are shared by the ranks that lie on it, and a rank has
/// whole adjacent nodes where there are fewer ranks than nodes. REQUIRES: a node, and ranks >= 1.
std::vector<Cores> place_on_nodes(const std::vector<NumaNode>& nodes, int ranks);

}  // namespace robusta
