// NUMA nodes as sysfs shows them, of hosts that are not there, and ranks dealt out to them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "comm/affinity/numa.h"
#include "support/files.h"

namespace robusta::test::numa_test {
namespace {

Cores range(int first, int last) {
  Cores cores;
  for (int cpu = first; cpu <= last; ++cpu) cores.add(cpu);
  return cores;
}

using Lists = std::map<std::string, std::string>;

/// A folder as /sys/devices/system/node: the list of each node's processors by its name.
class Host {
 public:
  explicit Host(const Lists& lists) {
    for (const auto& [node, list] : lists) {
      std::filesystem::create_directory(folder_ / node);
      write_file(folder_ / (node + "/cpulist"), list + "\n");
    }
    write_file(folder_ / "possible", "0-7\n");
  }
  /// "0: 0-3; 1: 4-7"
  std::string nodes(const Cores& allowed) const {
    std::string text;
    for (const NumaNode& node : numa_nodes(allowed, folder_ / ""))
      text += (text.empty() ? "" : "; ") + std::to_string(node.id) + ": " + node.cores.str();
    return text;
  }

 private:
  TempDir folder_;
};

TEST(NumaNodes, AreThoseOfSysfs) {
  EXPECT_EQ(Host({{"node0", "0-3"}, {"node1", "4-7"}}).nodes(range(0, 7)), "0: 0-3; 1: 4-7");
  // Second threads of the cores come after all first ones; ten nodes and more are in the order of their numbers.
  EXPECT_EQ(Host({{"node0", "0-1,8-9"}, {"node10", "6-7"}, {"node2", "2,4"}, {"node3", "3,5"}}).nodes(range(0, 9)),
            "0: 0-1,8-9; 2: 2,4; 3: 3,5; 10: 6-7");
}

TEST(NumaNodes, AreInTheOrderOfTheirNumbers) {
  Lists lists;
  std::string expected;
  for (int node = 0; node < 16; ++node) {
    lists["node" + std::to_string(node)] = std::to_string(15 - node);
    expected += (node ? "; " : "") + std::to_string(node) + ": " + std::to_string(15 - node);
  }
  EXPECT_EQ(Host(lists).nodes(range(0, 15)), expected);
}

TEST(NumaNodes, OfMemoryAloneCountForNothing) {
  EXPECT_EQ(Host({{"node0", "0-3"}, {"node1", ""}, {"node2", "4-7"}}).nodes(range(0, 7)), "0: 0-3; 2: 4-7");
}

TEST(NumaNodes, HaveWhatThisProcessMayUse) {
  const Host host({{"node0", "0-3"}, {"node1", "4-7"}});
  Cores odd;
  for (const int cpu : {1, 3, 5}) odd.add(cpu);
  EXPECT_EQ(host.nodes(odd), "0: 1,3; 1: 5");
  EXPECT_EQ(host.nodes(range(4, 5)), "1: 4-5") << "a container of one node";
}

TEST(NumaNodes, AreOneWhereNobodyTells) {
  EXPECT_EQ(Host(Lists{}).nodes(range(0, 7)), "0: 0-7");
  EXPECT_EQ(Host(Lists{{"node0", "8-9"}}).nodes(range(0, 7)), "0: 0-7");
  const std::vector<NumaNode> none = numa_nodes(range(0, 3), "/nonexistent");
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].cores.str(), "0-3");
}

TEST(NumaNodes, ListsMayBeDamaged) {
  EXPECT_EQ(Host({{"node0", "0-1,x"}, {"node1", "5-4,6"}, {"node2", "2-99999999"}, {"nodex", "3"}, {"node", "3"}})
                .nodes(range(0, 7)),
            "0: 0-1; 2: 2-7");
}

std::vector<std::string> places(const Lists& lists, int ranks) {
  const TempDir folder;
  std::vector<NumaNode> nodes;
  for (const auto& [node, list] : lists) {
    std::filesystem::create_directory(folder / node);
    write_file(folder / (node + "/cpulist"), list);
  }
  std::vector<std::string> texts;
  for (const Cores& cores : place_on_nodes(numa_nodes(range(0, 15), folder / ""), ranks)) texts.push_back(cores.str());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(NumaNodes, ARankIsOnOne) {
  const Lists four{{"node0", "0-3"}, {"node1", "4-7"}, {"node2", "8-11"}, {"node3", "12-15"}};
  EXPECT_EQ(places(four, 4), (Texts{"0-3", "4-7", "8-11", "12-15"}));
  EXPECT_EQ(places(four, 8), (Texts{"0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"}));
  EXPECT_EQ(places(four, 2), (Texts{"0-7", "8-15"}));
  EXPECT_EQ(places(four, 1), (Texts{"0-15"}));
  EXPECT_EQ(places(four, 3), (Texts{"0-3", "4-7", "8-15"}));
  EXPECT_EQ(places({{"node0", "0-1"}, {"node1", "2-3"}}, 3), (Texts{"0", "1", "2-3"}));
  EXPECT_EQ(places(Lists{{"node0", "0-1"}}, 3), (Texts{"0", "0", "1"})) << "more ranks than processors";
}

}  // namespace
}  // namespace robusta::test::numa_test
