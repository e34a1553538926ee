// Waiting for a processor, by pictures of /proc/self/task and by a processor that is shared.
#include "comm/liveness/starvation.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "support/files.h"

namespace robusta::test::starvation_test {
namespace {

namespace fs = std::filesystem;
using liveness::Starvation;

void put(const TempDir& tasks, const std::string& thread, const std::string& text) {
  fs::create_directories(tasks / thread);
  write_file(tasks / (thread + "/schedstat"), text);
}

TEST(StarvationTest, TheLongestWaitOfEachStretchCounts) {
  const TempDir tasks;
  Starvation starvation(tasks.path().string());
  put(tasks, "1", "900000000 5000000000 3\n");
  put(tasks, "2", "900000000 0 3\n");
  EXPECT_EQ(starvation.seconds(1), 0) << "what was before counts not";
  put(tasks, "1", "900000000 6000000000 4\n");
  put(tasks, "2", "900000000 3000000000 4\n");
  EXPECT_DOUBLE_EQ(starvation.seconds(2), 3);
  put(tasks, "1", "900000000 6500000000 5\n");
  put(tasks, "3", "0 9000000000 1\n");
  EXPECT_DOUBLE_EQ(starvation.seconds(3), 3.5);
  fs::remove_all(tasks / "1");
  put(tasks, "2", "garbage");
  EXPECT_DOUBLE_EQ(starvation.seconds(4), 3.5);
}

TEST(StarvationTest, NoStatisticsAreNoWait) {
  Starvation starvation("/no/such/folder");
  EXPECT_EQ(starvation.seconds(5), 0);
  EXPECT_EQ(starvation.seconds(6), 0);
}

/// A thread's state, in a name that is made to mislead.
void put_state(const TempDir& tasks, const std::string& thread, char state) {
  fs::create_directories(tasks / thread);
  write_file(tasks / (thread + "/stat"), "7 (a) S (b) " + std::string(1, state) + " 1 7 7 0\n");
}

TEST(StarvationTest, AThreadThatEndsWhileItIsLookedAtIsNotWaiting) {
  const TempDir tasks;
  put(tasks, "1", "900000000 0 3\n");
  // The first page of memory is never mapped: opening succeeds and reading fails, as for a thread that has just ended.
  fs::create_symlink("/proc/self/mem", tasks / "1/stat");
  Starvation starvation(tasks.path().string());
  EXPECT_EQ(starvation.seconds(1), 0);
  put(tasks, "1", "900000000 2000000000 3\n");
  EXPECT_DOUBLE_EQ(starvation.seconds(2), 2);
}

TEST(StarvationTest, AWaitThatLastsCountsAndIsNotCountedTwice) {
  const TempDir tasks;
  Starvation starvation(tasks.path().string());
  put(tasks, "1", "900000000 0 3\n");
  put_state(tasks, "1", 'R');
  EXPECT_EQ(starvation.seconds(10), 0);
  EXPECT_DOUBLE_EQ(starvation.seconds(11), 1);
  EXPECT_DOUBLE_EQ(starvation.seconds(13), 3);
  // It has its processor, and the kernel tells of the whole wait.
  put(tasks, "1", "900000001 3500000000 4\n");
  EXPECT_DOUBLE_EQ(starvation.seconds(14), 3.5);
  put(tasks, "1", "900000002 3700000000 5\n");
  EXPECT_DOUBLE_EQ(starvation.seconds(15), 3.7);
}

TEST(StarvationTest, WhoSleepsOrRunsWaitsForNoProcessor) {
  const TempDir tasks;
  Starvation starvation(tasks.path().string());
  put(tasks, "1", "900000000 0 3\n");
  put_state(tasks, "1", 'S');
  put(tasks, "2", "900000000 0 3\n");
  put_state(tasks, "2", 'R');
  EXPECT_EQ(starvation.seconds(10), 0);
  put(tasks, "2", "1900000000 0 3\n");
  EXPECT_EQ(starvation.seconds(11), 0);
  put_state(tasks, "1", 'R');  // woken just now
  put(tasks, "2", "2900000000 0 3\n");
  EXPECT_EQ(starvation.seconds(12), 0);
}

/// Two processes that compute on one processor have half of it each.
TEST(StarvationTest, ASharedProcessorShows) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || !fs::exists("/proc/self/schedstat")) GTEST_SKIP();
  int processor = 0;
  while (!CPU_ISSET(processor, &all)) ++processor;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);
  const pid_t rival = fork();
  if (rival == 0) {
    for (;;) asm volatile("");
  }
  Starvation starvation;
  starvation.seconds(7);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) continue;
  EXPECT_GT(starvation.seconds(8), 0.1);
  kill(rival, SIGKILL);
  waitpid(rival, nullptr, 0);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace robusta::test::starvation_test
