#include "comm/topology.h"

#include <gtest/gtest.h>

#include "comm/rank_file.h"
#include "comm/thread_ranks.h"
#include "support/errors.h"

namespace robusta::test::topology_test {
namespace {

using Hosts = std::vector<std::string>;
using Ranks = std::vector<int>;

DdlOptions with_dims(const std::vector<int>& dims) {
  DdlOptions options;
  options.mode = ReduceMode::kLayered, options.dims = dims;
  return options;
}

const Dimension& dimension(const Topology& topology, const std::string& name) {
  for (const Dimension& each : topology.dimensions) {
    if (each.name == name) return each;
  }
  throw std::out_of_range("dimension " + name);
}

/// Hosts as a rank file of X x (hosts) places them.
Hosts by_rule(int x, const Hosts& names) {
  Hosts hosts;
  for (int i = 0; i < x; ++i) hosts.insert(hosts.end(), names.begin(), names.end());
  return hosts;
}

}  // namespace

TEST(TopologyTest, RankFilesRule) {
  // 4x2x3: rank = x*6 + y*3 + z on host y + 2z of IBM's list; here hosts are named by y and z.
  const Hosts hosts = by_rule(4, {"y0z0", "y0z1", "y0z2", "y1z0", "y1z1", "y1z2"});
  const Topology topology = topology_of(hosts, 2 * 6 + 1 * 3 + 2, with_dims({4, 2, 3}));
  EXPECT_EQ(topology.warning, "");
  EXPECT_EQ(dimension(topology, "X").ranks, (Ranks{5, 11, 17, 23}));
  EXPECT_EQ(dimension(topology, "X").position, 2);
  EXPECT_TRUE(dimension(topology, "X").one_host);
  EXPECT_EQ(dimension(topology, "Y").ranks, (Ranks{14, 17}));
  EXPECT_EQ(dimension(topology, "Y").position, 1);
  EXPECT_FALSE(dimension(topology, "Y").one_host);
  EXPECT_EQ(dimension(topology, "Z").ranks, (Ranks{15, 16, 17}));
  EXPECT_EQ(dimension(topology, "Z").position, 2);
  EXPECT_EQ(topology.local_rank, 2);
  EXPECT_EQ(topology.local_ranks, 4);
  EXPECT_EQ(topology.describe(), "4x2x3: 4 ranks on each of 6 hosts");
}

TEST(TopologyTest, DimensionsOfOneRankAreLeftOut) {
  const Topology topology = topology_of(by_rule(1, {"a", "b", "c"}), 1, with_dims({1, 3, 1}));
  ASSERT_EQ(topology.dimensions.size(), 1u);
  EXPECT_EQ(topology.dimensions[0].name, "Y");
  EXPECT_EQ(topology.dimensions[0].ranks, (Ranks{0, 1, 2}));
}

TEST(TopologyTest, HostsDecideWithoutDims) {
  const Topology topology = topology_of({"a", "a", "b", "b", "c", "c"}, 3, {});
  EXPECT_EQ(topology.dims, (Ranks{2, 3}));
  EXPECT_EQ(topology.warning, "");
  EXPECT_EQ(dimension(topology, "X").ranks, (Ranks{2, 3}));
  EXPECT_EQ(dimension(topology, "Y").ranks, (Ranks{1, 3, 5}));
  EXPECT_EQ(topology_of({"a", "a", "a"}, 0, {}).dims, (Ranks{3, 1}));
  EXPECT_EQ(topology_of({"a", "b"}, 0, {}).dims, (Ranks{1, 2}));
}

TEST(TopologyTest, UnequalHostsAreOneDimension) {
  const Topology topology = topology_of({"a", "b", "a"}, 2, {});
  EXPECT_EQ(topology.dims, (Ranks{3}));
  EXPECT_EQ(topology.warning, "");
  EXPECT_EQ(dimension(topology, "X").ranks, (Ranks{0, 1, 2}));
  EXPECT_FALSE(dimension(topology, "X").one_host);
  EXPECT_EQ(topology.describe(), "3: 1 to 2 ranks on each of 2 hosts");
}

TEST(TopologyTest, GroupsFollowTheHostsWithAWarning) {
  // What mpirun does without a rank file: ranks 0-3 on the first host.
  const Topology topology = topology_of({"a", "a", "a", "a", "b", "b", "b", "b"}, 5, with_dims({4, 2, 1}));
  EXPECT_EQ(dimension(topology, "X").ranks, (Ranks{4, 5, 6, 7}));
  EXPECT_TRUE(dimension(topology, "X").one_host);
  EXPECT_EQ(dimension(topology, "Y").ranks, (Ranks{1, 5}));
  EXPECT_TRUE(contains(topology.warning, "ranks 0,2,4,6 are on a,a,b,b; groups follow the hosts"));
  EXPECT_TRUE(contains(topology.warning, ". " + rank_file_note({4, 2, 1}, {"a", "b"}, count_cores())));
}

TEST(TopologyTest, WhereNoGroupingFitsTheRuleStays) {
  const Topology topology = topology_of({"a", "a", "a", "b"}, 3, with_dims({2, 2}));
  EXPECT_EQ(dimension(topology, "X").ranks, (Ranks{1, 3}));
  EXPECT_FALSE(dimension(topology, "X").one_host);
  EXPECT_TRUE(contains(topology.warning, "ranks 1,3 are on a,b; X goes over the network"));
}

TEST(TopologyTest, SeveralGroupsOnAHost) {
  const Topology one = topology_of(Hosts(8, "a"), 5, with_dims({2, 2, 2}));
  EXPECT_EQ(one.warning, "");
  EXPECT_EQ(dimension(one, "X").ranks, (Ranks{1, 5}));
  EXPECT_TRUE(dimension(one, "Z").one_host);
  const Topology two = topology_of({"a", "a", "a", "a", "b", "b", "b", "b"}, 2, with_dims({2, 4}));
  EXPECT_EQ(dimension(two, "X").ranks, (Ranks{2, 3}));
  EXPECT_EQ(dimension(two, "Y").ranks, (Ranks{0, 2, 4, 6}));
  EXPECT_TRUE(contains(two.warning, "It takes 4 hosts of 2 ranks to fit, not 2"));
}

TEST(TopologyTest, WrongProduct) {
  const Error error = error_of([] { topology_of({"a", "a"}, 0, with_dims({4, 1, 1})); });
  EXPECT_TRUE(contains(error.cause(), "invalid dim size=2 usr_size=4"));
}

// Every rank's groups agree: members name each other, at the right positions.
TEST(TopologyTest, RanksAgreeOnGroups) {
  for (const auto& [hosts, dims] : std::vector<std::pair<Hosts, Ranks>>{
           {by_rule(2, {"a", "b", "c", "d"}), {2, 2, 2}},
           {{"a", "a", "b", "b", "c", "c", "d", "d"}, {2, 2, 2}},
           {{"a", "b", "b", "a", "c", "d", "d", "c"}, {2, 4}},
           {Hosts(12, "a"), {2, 3, 1, 2}},
       }) {
    for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
      for (const Dimension& mine : topology_of(hosts, rank, with_dims(dims)).dimensions) {
        ASSERT_EQ(mine.ranks.at(static_cast<size_t>(mine.position)), rank);
        for (const int peer : mine.ranks) {
          EXPECT_EQ(dimension(topology_of(hosts, peer, with_dims(dims)), mine.name).ranks, mine.ranks);
        }
      }
    }
  }
}

TEST(TopologyTest, FromRanksThatRun) {
  run_thread_ranks(
      6,
      [](Communicator& comm) {
        const Topology topology = find_topology(comm, {});
        EXPECT_EQ(topology.hosts, (Hosts{"host0", "host0", "host1", "host1", "host2", "host2"}));
        EXPECT_EQ(topology.dims, (Ranks{2, 3}));
        EXPECT_EQ(topology.local_rank, comm.rank() % 2);
      },
      3);
}

TEST(RankFileTest, SharesTheCoresOfAHost) {
  EXPECT_EQ(rank_file({2, 2}, {"a", "b"}, 8),
            "#dims = 2x2\n#host = a,b\n"
            "rank 0=a slot=0-3\nrank 2=a slot=4-7\n"
            "rank 1=b slot=0-3\nrank 3=b slot=4-7\n");
  EXPECT_EQ(rank_file({3, 1}, {"a"}, 5), "#dims = 3x1\n#host = a\nrank 0=a slot=0\nrank 1=a slot=1\nrank 2=a slot=2\n");
  EXPECT_EQ(rank_file({2, 2}, {"a", "a"}, 4),
            "#dims = 2x2\n#host = a,a\n"
            "rank 0=a slot=0\nrank 2=a slot=1\nrank 1=a slot=2\nrank 3=a slot=3\n");
  EXPECT_GE(count_cores(), 1);
}

// Of two ranks with one core, neither is worth pinning.
TEST(RankFileTest, IsNotOfferedForMoreRanksThanCores) {
  EXPECT_EQ(rank_file_note({2, 1}, {"a"}, 2), "The rank file that fits:\n" + rank_file({2, 1}, {"a"}, 2));
  for (const std::string& note : {rank_file_note({3, 1}, {"a"}, 2), rank_file_note({1, 3}, {"a", "a", "a"}, 2)}) {
    EXPECT_TRUE(contains(note, "No rank file: a has 3 ranks and only 2 cores,")) << note;
    EXPECT_FALSE(contains(note, "slot=")) << note;
  }
  EXPECT_TRUE(contains(rank_file_note({2, 1}, {"a"}, 1), "a has 2 ranks and only 1 core,"));
}

}  // namespace robusta::test::topology_test
