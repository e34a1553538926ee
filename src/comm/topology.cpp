// Groups are found from the hosts that ranks run on; where these do not divide by X, IBM's rule for rank files holds
// and the topology carries a warning.

#include "comm/topology.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/counted.h"
#include "base/str.h"
#include "comm/dims.h"
#include "comm/rank_file.h"

namespace robusta {
namespace {

/// Groups of X ranks each, in the order of their place in the other dims.
using Groups = std::vector<std::vector<int>>;

/// The ranks of each host, hosts in the order of their first rank.
std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> found;
  std::map<std::string, size_t> index;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [place, is_new] = index.try_emplace(hosts[rank], found.size());
    if (is_new) found.emplace_back();
    found[place->second].push_back(static_cast<int>(rank));
  }
  return found;
}

bool on_one_host(const std::vector<int>& ranks, const Topology& topology) {
  const std::string& first = topology.host_of(ranks.front());
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return topology.host_of(rank) == first; });
}

/// IBM's rule: rank x*S + s is member x of group s.
Groups groups_by_rule(int ranks, int per_group) {
  Groups groups(static_cast<size_t>(ranks / per_group));
  for (int rank = 0; rank < ranks; ++rank) groups[static_cast<size_t>(rank) % groups.size()].push_back(rank);
  return groups;
}

/// Each host's ranks cut into groups; empty when a host's do not divide.
Groups groups_by_host(const std::vector<std::string>& hosts, int per_group) {
  Groups groups;
  for (const std::vector<int>& local : ranks_by_host(hosts)) {
    if (local.size() % static_cast<size_t>(per_group)) return {};
    for (auto first = local.begin(); first != local.end(); first += per_group) {
      groups.emplace_back(first, first + per_group);
    }
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// Ranks per host where that is equal, else all ranks.
std::vector<int> dims_of_hosts(const std::vector<std::string>& hosts) {
  const auto by_host = ranks_by_host(hosts);
  for (const auto& local : by_host) {
    if (local.size() != by_host.front().size()) return {static_cast<int>(hosts.size())};
  }
  return {static_cast<int>(by_host.front().size()), static_cast<int>(by_host.size())};
}

/// What is amiss when groups of X ranks by the rule do not lie within hosts. `followed`: the groups follow the hosts.
std::string mismatch(const Topology& topology, const Groups& rule, bool followed) {
  std::string ranks, places;
  const auto crossing = std::find_if(rule.begin(), rule.end(), [&](auto& g) { return !on_one_host(g, topology); });
  for (const int rank : *crossing) {
    ranks += str(ranks.empty() ? "" : ",", rank);
    places += str(places.empty() ? "" : ",", topology.host_of(rank));
  }
  std::string text = str("the ranks lie on other hosts than the dims ", dims_text(topology.dims),
                         " say: X should be within a host, and ranks ", ranks, " are on ", places, "; ",
                         followed ? "groups follow the hosts" : "X goes over the network");
  // The file wants whole hosts: with others there is none that fits.
  std::vector<std::string> names;
  for (const auto& local : ranks_by_host(topology.hosts)) names.push_back(topology.host_of(local[0]));
  if (names.size() != rule.size()) {
    return str(text, ". It takes ", counted(static_cast<int64_t>(rule.size()), "host"), " of ",
               counted(topology.dims[0], "rank"), " to fit, not ", names.size());
  }
  return str(text, ". ", rank_file_note(topology.dims, names, count_cores()));
}

/// The dimensions in which `rank` has peers. Member x of group s has the coordinates of s in Y, Z, ...
std::vector<Dimension> dimensions_of(const Topology& topology, const Groups& groups, int rank) {
  const auto is_mine = [&](const std::vector<int>& group) {
    return std::find(group.begin(), group.end(), rank) != group.end();
  };
  const auto mine = static_cast<int>(std::find_if(groups.begin(), groups.end(), is_mine) - groups.begin());
  const std::vector<int>& group = groups[static_cast<size_t>(mine)];
  const auto x = static_cast<size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
  std::vector<Dimension> found{{"X", group, static_cast<int>(x), true}};
  int stride = static_cast<int>(groups.size());
  for (size_t d = 1; d < topology.dims.size(); ++d) {
    const int length = topology.dims[d];
    stride /= length;
    Dimension dimension{std::string(1, "XYZW"[d]), {}, mine / stride % length, true};
    const int first = mine - dimension.position * stride;
    for (int i = 0; i < length; ++i) dimension.ranks.push_back(groups[static_cast<size_t>(first + i * stride)][x]);
    found.push_back(std::move(dimension));
  }
  std::erase_if(found, [](const Dimension& dimension) { return dimension.ranks.size() == 1; });
  for (Dimension& dimension : found) dimension.one_host = on_one_host(dimension.ranks, topology);
  return found;
}

}  // namespace

Topology topology_of(const std::vector<std::string>& hosts, int rank, const DdlOptions& options) {
  const int ranks = static_cast<int>(hosts.size());
  if (!options.dims.empty()) check_dims(options, ranks);
  Topology topology;
  topology.hosts = hosts;
  topology.dims = options.dims.empty() ? dims_of_hosts(hosts) : options.dims;
  const Groups rule = groups_by_rule(ranks, topology.dims[0]), real = groups_by_host(hosts, topology.dims[0]);
  const bool fits = std::all_of(rule.begin(), rule.end(), [&](auto& group) { return on_one_host(group, topology); });
  const bool follow = !fits && !real.empty();
  if (!fits && !options.dims.empty()) topology.warning = mismatch(topology, rule, follow);
  topology.dimensions = dimensions_of(topology, follow ? real : rule, rank);
  for (int other = 0; other < ranks; ++other) {
    if (topology.host_of(other) != topology.host_of(rank)) continue;
    if (other < rank) ++topology.local_rank;
    if (other != rank) ++topology.local_ranks;
  }
  return topology;
}

Topology find_topology(Communicator& world, const DdlOptions& options) {
  // HOST_NAME_MAX is 64 in Linux; a longer name would only be cut, on all ranks alike.
  constexpr size_t kLongest = 256;
  std::array<char, kLongest> mine{};
  world.host().copy(mine.data(), kLongest - 1);
  std::vector<std::string> hosts;
  for (const auto& host : world.gather(mine)) hosts.emplace_back(host.data());
  return topology_of(hosts, world.rank(), options);
}

std::vector<int> Topology::inner_ranks() const {
  const bool has_x = !dimensions.empty() && dimensions.front().name == "X";
  return has_x ? dimensions.front().ranks : std::vector<int>();
}

std::string Topology::describe() const {
  const auto by_host = ranks_by_host(hosts);
  const auto [fewest, most] =
      std::minmax_element(by_host.begin(), by_host.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  const std::string each =
      fewest->size() == most->size() ? std::to_string(most->size()) : str(fewest->size(), " to ", most->size());
  return str(dims_text(dims), ": ", each, most->size() == 1 ? " rank" : " ranks", " on ",
             by_host.size() == 1 ? "1 host" : str("each of ", by_host.size(), " hosts"));
}

}  // namespace robusta
