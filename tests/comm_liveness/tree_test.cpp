#include "comm/liveness/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace robusta::test {
namespace {

using liveness::find_neighbours;
using liveness::Neighbours;

std::vector<std::string> block_hosts(int hosts, int per_host) {
  std::vector<std::string> names;
  for (int rank = 0; rank < hosts * per_host; ++rank) names.push_back("h" + std::to_string(rank / per_host));
  return names;
}

/// Every link is known at both ends, and every rank reaches rank 0 within the levels.
void check_tree(const std::vector<std::string>& hosts) {
  std::vector<Neighbours> all;
  const int size = static_cast<int>(hosts.size());
  for (int rank = 0; rank < size; ++rank) all.push_back(find_neighbours(hosts, rank));
  const auto of = [&](int rank) -> const Neighbours& { return all[static_cast<size_t>(rank)]; };
  int deepest = 0;
  for (int rank = 0; rank < size; ++rank) {
    int steps = 1, at = rank;
    for (; of(at).parent >= 0; at = of(at).parent) ++steps;
    EXPECT_EQ(at, 0);
    deepest = std::max(deepest, steps);
    for (int child : of(rank).children) EXPECT_EQ(of(child).parent, rank);
    for (int leaf : of(rank).leaves) EXPECT_TRUE(of(leaf).children.empty());
    const int parent = of(rank).parent;
    if (parent < 0) continue;
    const auto& siblings = of(parent).children;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), rank), 1);
    const auto& remote = of(rank).remote;
    EXPECT_EQ(std::count(remote.begin(), remote.end(), parent) == 1,
              hosts[static_cast<size_t>(rank)] != hosts[static_cast<size_t>(parent)]);
  }
  EXPECT_EQ(of(0).levels, deepest);
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
    const Neighbours links = find_neighbours(hosts, rank);
    EXPECT_LE(links.children.size(), 3u + 8u);
    EXPECT_LE(links.levels, 6);
  }
}

TEST(LivenessTreeTest, HeirIsOnAnotherHostWhereThereIsOne) {
  EXPECT_EQ(find_neighbours({"a", "a", "b", "b"}, 3).heir, 2);
  EXPECT_EQ(find_neighbours({"a", "a"}, 0).heir, 1);
  EXPECT_EQ(find_neighbours({"a"}, 0).heir, -1);
}

}  // namespace
}  // namespace robusta::test
