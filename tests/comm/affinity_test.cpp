// Processors as they are dealt out to ranks, and Intel's OpenMP variables as GNU's.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <map>

#include "comm/affinity/cores.h"
#include "comm/affinity/omp_environment.h"
#include "support/errors.h"

namespace robusta::test::affinity_test {
namespace {

Cores cores(std::initializer_list<int> cpus) {
  Cores set;
  for (const int cpu : cpus) set.add(cpu);
  return set;
}

TEST(Cores, AreShownAsRanges) {
  EXPECT_EQ(cores({}).str(), "");
  EXPECT_EQ(cores({5}).str(), "5");
  EXPECT_EQ(cores({0, 1, 2, 3, 8, 10, 11}).str(), "0-3,8,10-11");
  EXPECT_EQ(cores({62, 63, 64, 65, 1023}).str(), "62-65,1023");
}

TEST(Cores, AreDealtOutWithoutGapOrOverlap) {
  const Cores all = cores({0, 1, 2, 3, 4, 8, 9});
  EXPECT_EQ(share_of(all, 0, 3).str(), "0-1");
  EXPECT_EQ(share_of(all, 1, 3).str(), "2-3");
  EXPECT_EQ(share_of(all, 2, 3).str(), "4,8-9");
}

TEST(Cores, AreSharedByMoreRanks) {
  const Cores two = cores({4, 7});
  EXPECT_EQ(share_of(two, 0, 4).str(), "4");
  EXPECT_EQ(share_of(two, 1, 4).str(), "4");
  EXPECT_EQ(share_of(two, 2, 4).str(), "7");
  EXPECT_EQ(share_of(two, 3, 4).str(), "7");
}

/// Each thread is on a processor of its own, and may leave it.
TEST(Cores, ThreadsBeginApart) {
  const Cores all = own_cores();
  const int before = omp_get_max_threads();
  omp_set_num_threads(all.count());
  std::vector<int> places = spread_threads();
  if (all.count() < 2 || omp_get_proc_bind() != omp_proc_bind_false) {
    EXPECT_TRUE(places.empty());
    GTEST_SKIP() << "threads that are bound, or have one processor, stay where they are";
  }
  std::ranges::sort(places);
  EXPECT_EQ(std::ranges::adjacent_find(places), places.end()) << "two on one processor";
  EXPECT_EQ(places.size(), static_cast<size_t>(all.count()));
  bool free = true;
#pragma omp parallel reduction(&& : free)
  free = own_cores() == all;
  EXPECT_TRUE(free);
  omp_set_num_threads(all.count() - 1);
  EXPECT_TRUE(spread_threads().empty()) << "the kernel knows which processor to leave to others";
  omp_set_num_threads(before);
}

OmpTranslation translate(const std::map<std::string, std::string>& environment, bool oversubscribed = false) {
  const auto get = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  return translate_omp(get, oversubscribed);
}

using Variables = std::map<std::string, std::string>;

/// What is set whatever else is.
Variables with_brief_spin(Variables others) {
  others["GOMP_SPINCOUNT"] = "50000";
  return others;
}

TEST(OmpEnvironment, IntelsAffinityBecomesOurs) {
  EXPECT_EQ(translate({{"KMP_AFFINITY", "granularity=fine,compact,1,0"}}).set,
            with_brief_spin({{"OMP_PROC_BIND", "close"}}));
  EXPECT_EQ(translate({{"KMP_AFFINITY", "Scatter"}}).set, with_brief_spin({{"OMP_PROC_BIND", "spread"}}));
  EXPECT_EQ(translate({{"KMP_AFFINITY", "disabled"}}).set, with_brief_spin({{"OMP_PROC_BIND", "false"}}));
  EXPECT_EQ(translate({{"KMP_AFFINITY", "proclist=[0,2-5],granularity=fine,explicit"}}).set,
            with_brief_spin({{"GOMP_CPU_AFFINITY", "0 2-5"}}));
}

TEST(OmpEnvironment, BlockTimeDecidesWhetherThreadsSpin) {
  EXPECT_EQ(translate({{"KMP_BLOCKTIME", "0"}}).set, (Variables{{"OMP_WAIT_POLICY", "passive"}}));
  EXPECT_EQ(translate({{"KMP_BLOCKTIME", "infinite"}}).set, (Variables{{"OMP_WAIT_POLICY", "active"}}));
  EXPECT_EQ(translate({{"KMP_BLOCKTIME", "1"}}).set, with_brief_spin({}));
}

TEST(OmpEnvironment, OwnVariablesWinAndEveryForeignOneIsNamed) {
  const OmpTranslation done =
      translate({{"KMP_AFFINITY", "compact"}, {"OMP_PROC_BIND", "spread"}, {"KMP_HW_SUBSET", "1t"}});
  EXPECT_EQ(done.set, with_brief_spin({}));
  ASSERT_EQ(done.notes.size(), 2u);
  EXPECT_TRUE(contains(done.notes[0], "KMP_AFFINITY=compact is ignored: OMP_PROC_BIND is set"));
  EXPECT_TRUE(contains(done.notes[1], "KMP_HW_SUBSET=1t means nothing"));
}

TEST(OmpEnvironment, ThreadsThatWaitDoNotSpinForATimeSlice) {
  EXPECT_EQ(translate({}).set, with_brief_spin({}));
  EXPECT_TRUE(translate({{"GOMP_SPINCOUNT", "7"}}).set.empty());
  EXPECT_TRUE(translate({{"OMP_WAIT_POLICY", "active"}}).set.empty());
  EXPECT_TRUE(translate({{"OMP_NUM_THREADS", "1"}}).set.empty()) << "nobody waits, and the start is quicker";
}

TEST(OmpEnvironment, ThreadsOfTooManyRanksSleep) {
  EXPECT_EQ(translate({}, true).set, (Variables{{"OMP_WAIT_POLICY", "passive"}}));
  EXPECT_TRUE(translate({{"OMP_WAIT_POLICY", "active"}}, true).set.empty());
  EXPECT_EQ(translate({{"KMP_BLOCKTIME", "infinite"}}, true).set, (Variables{{"OMP_WAIT_POLICY", "active"}}));
}

}  // namespace
}  // namespace robusta::test::affinity_test
