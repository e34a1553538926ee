#include "comm/liveness/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace robusta::test::tree_test {
namespace {

using liveness::find_neighbours;
using liveness::Neighbours;
using liveness::RankId;
using Hosts = IdVector<RankId, std::string>;

Hosts block_hosts(int hosts, int per_host) {
  Hosts names;
  for (int rank = 0; rank < hosts * per_host; ++rank) names.push_back("h" + std::to_string(rank / per_host));
  return names;
}

/// Every link is known at both ends, and every rank reaches rank 0 within the levels.
void check_tree(const Hosts& hosts) {
  IdVector<RankId, Neighbours> all;
  for (const RankId rank : hosts.ids()) all.push_back(find_neighbours(hosts, rank));
  int deepest = 0;
  for (const RankId rank : hosts.ids()) {
    int steps = 1;
    RankId at = rank;
    for (; all[at].parent; at = all[at].parent) ++steps;
    EXPECT_EQ(at, RankId(0));
    deepest = std::max(deepest, steps);
    for (const RankId child : all[rank].children) EXPECT_EQ(all[child].parent, rank);
    for (const RankId leaf : all[rank].leaves) EXPECT_TRUE(all[leaf].children.empty());
    const RankId parent = all[rank].parent;
    if (!parent) continue;
    const auto& siblings = all[parent].children;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), rank), 1);
    const auto& remote = all[rank].remote;
    EXPECT_EQ(std::count(remote.begin(), remote.end(), parent) == 1, hosts[rank] != hosts[parent]);
  }
  EXPECT_EQ(all[RankId(0)].levels, deepest);
}

TEST(LivenessTreeTest, EveryRankIsLinkedToTheRoot) {
  for (int hosts : {1, 2, 3, 8, 9, 10, 73, 74, 80}) {
    for (int per_host : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(hosts) + " x " + std::to_string(per_host));
      check_tree(block_hosts(hosts, per_host));
    }
  }
}

TEST(LivenessTreeTest, RanksDealtOutOverHosts) { check_tree({"a", "b", "c", "a", "b", "c", "b", "d"}); }

TEST(LivenessTreeTest, LinksStayFewInALargeJob) {
  const auto hosts = block_hosts(1024, 4);
  for (int rank : {0, 1, 4, 400, 4092, 4095}) {
    const Neighbours links = find_neighbours(hosts, RankId(rank));
    EXPECT_LE(links.children.size(), 3u + 8u);
    EXPECT_LE(links.levels, 6);
  }
}

TEST(LivenessTreeTest, HeirIsOnAnotherHostWhereThereIsOne) {
  EXPECT_EQ(find_neighbours({"a", "a", "b", "b"}, RankId(3)).heir, RankId(2));
  EXPECT_EQ(find_neighbours({"a", "a"}, RankId(0)).heir, RankId(1));
  EXPECT_EQ(find_neighbours({"a"}, RankId(0)).heir, RankId::none());
}

}  // namespace
}  // namespace robusta::test::tree_test
