// A complete k-ary tree over the hosts in the order of their first rank: depth grows with the logarithm of the hosts.

#include "comm/liveness/tree.h"

#include <algorithm>
#include <unordered_map>

namespace robusta::liveness {
namespace {

/// The hosts in order of appearance, each with its ranks.
struct Hosts {
  explicit Hosts(const IdVector<RankId, std::string>& names) : of_rank(names.size()) {
    std::unordered_map<std::string, size_t> seen;
    for (const RankId rank : names.ids()) {
      const auto [place, is_new] = seen.try_emplace(names[rank], ranks.size());
      if (is_new) ranks.emplace_back();
      of_rank[rank] = place->second;
      ranks[place->second].push_back(rank);
    }
  }

  size_t first_child(size_t host) const { return std::min(host * kArity + 1, ranks.size()); }
  size_t end_child(size_t host) const { return std::min(host * kArity + 1 + kArity, ranks.size()); }
  RankId leader(size_t host) const { return ranks[host][0]; }
  bool is_leaf(size_t host) const { return ranks[host].size() == 1 && first_child(host) == end_child(host); }

  int levels() const {
    // The last host is among the deepest.
    int deepest = 1;
    for (size_t host = ranks.size() - 1; host > 0; host = (host - 1) / kArity) ++deepest;
    const bool crowded = std::any_of(ranks.begin(), ranks.end(), [](const auto& host) { return host.size() > 1; });
    return deepest + (crowded ? 1 : 0);
  }

  RankId heir() const {
    if (ranks.size() > 1) return leader(1);
    return ranks[0].size() > 1 ? ranks[0][1] : RankId::none();
  }

  std::vector<std::vector<RankId>> ranks;
  IdVector<RankId, size_t> of_rank;
};

}  // namespace

Neighbours find_neighbours(const IdVector<RankId, std::string>& names, RankId rank) {
  const Hosts hosts(names);
  const size_t host = hosts.of_rank[rank];
  Neighbours result;
  result.levels = hosts.levels();
  result.heir = hosts.heir();
  if (rank != hosts.leader(host)) {
    result.parent = hosts.leader(host);
    return result;
  }
  if (host > 0) {
    result.parent = hosts.leader((host - 1) / kArity);
    result.remote.push_back(result.parent);
  }
  for (size_t i = 1; i < hosts.ranks[host].size(); ++i) {
    result.children.push_back(hosts.ranks[host][i]);
    result.leaves.push_back(hosts.ranks[host][i]);
  }
  for (size_t child = hosts.first_child(host); child < hosts.end_child(host); ++child) {
    result.children.push_back(hosts.leader(child));
    result.remote.push_back(hosts.leader(child));
    if (hosts.is_leaf(child)) result.leaves.push_back(hosts.leader(child));
  }
  std::sort(result.children.begin(), result.children.end());
  return result;
}

}  // namespace robusta::liveness
