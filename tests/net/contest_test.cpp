// Contests on a clock that goes as the test says.

#include "net/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "robusta/error.h"

namespace robusta::test::contest_test {
namespace {

constexpr double kMs = 1e-3;

/// Options that take the given times, the last of them again and again.
struct Race {
  std::vector<std::vector<double>> milliseconds;
  std::vector<int> runs = std::vector<int>(milliseconds.size());
  double now = 0;

  int winner(const ContestBudget& budget = {}) {
    const auto run = [this](int option) {
      const auto i = static_cast<size_t>(option), last = milliseconds[i].size() - 1;
      now += kMs * milliseconds[i][std::min(last, static_cast<size_t>(runs[i]++))];
    };
    return fastest_on_host(static_cast<int>(milliseconds.size()), run, budget, [this] { return now; });
  }
};

/// The first run of all may have been slow for what it set up: it has another.
TEST(Contest, WhoIsClearlySlowerRunsOnce) {
  Race race{{{50, 25}, {10}, {100}}};
  EXPECT_EQ(race.winner(), 1);
  EXPECT_EQ(race.runs, (std::vector{2, 1, 1}));
  Race first{{{50, 10}, {25}}};
  EXPECT_EQ(first.winner(), 0);
  EXPECT_EQ(first.runs, (std::vector{2, 1}));
}

TEST(Contest, WhoIsCloseRunsUntilItIsBehind) {
  Race race{{{10}, {10.4}, {12}}};
  EXPECT_EQ(race.winner(), 0);
  EXPECT_GT(race.runs[1], race.runs[2]);
  EXPECT_LE(race.runs[2], 3);
  EXPECT_GE(race.runs[1], 4);
}

/// Of those that differ by less than a measurement can tell the first is taken, whoever was quicker this time.
TEST(Contest, SaysTheSameOfEquals) {
  EXPECT_EQ((Race{{{10, 10.05}, {10}}}.winner()), 0);
  EXPECT_EQ((Race{{{10}, {10, 9.95}}}.winner()), 0);
  EXPECT_EQ((Race{{{10}, {9.8}}}.winner()), 1);
}

TEST(Contest, OneInterruptionDoesNotDecide) {
  EXPECT_EQ((Race{{{14}, {24, 10}}}.winner()), 1);
  EXPECT_EQ((Race{{{1}, {2.9, 0.5}}}.winner()), 1) << "short runs are less evidence";
  EXPECT_EQ((Race{{{1.4}, {4.5, 0.5}}}.winner()), 1) << "nor is one that took many times as long";
  EXPECT_EQ((Race{{{40, 26, 10}, {14}}}.winner()), 0) << "what was set up was no run";
}

TEST(Contest, ShortRunsHaveSeveralChances) { EXPECT_EQ((Race{{{1}, {1.9, 1.8, 1.7, 1.6, 1.5, 0.5}}}.winner()), 1); }

TEST(Contest, EndsWhenItsTimeIsOver) {
  Race race{{{10}, {10}}};
  race.winner({.least_rounds = 3, .seconds = 0.200});
  EXPECT_EQ(race.runs, (std::vector{11, 11}));
  Race slow{{{1000}, {1000}}};
  slow.winner();
  EXPECT_EQ(slow.runs, (std::vector{4, 4})) << "no fewer rounds, however long they are";
  Race late{{{1000}, {1000}}};
  late.winner({.least_rounds = 0, .seconds = 0});
  EXPECT_EQ(late.runs, (std::vector{1, 1}));
  Race short_ones{{{0.001}, {0.001}}};
  short_ones.winner();
  EXPECT_EQ(short_ones.runs, (std::vector{51, 51})) << "enough is enough";
}

TEST(Contest, WhoDoesNotRunDoesNotWin) {
  const auto refuse = [](int option) {
    if (option != 1) throw Error(ErrorKind::kUnsupported, "not here");
  };
  EXPECT_EQ(fastest_on_host(3, refuse, {}), 1);
  const auto refuse_all = [](int) { throw Error(ErrorKind::kUnsupported, "not here"); };
  EXPECT_EQ(fastest_on_host(3, refuse_all, {}), 0);
}

}  // namespace
}  // namespace robusta::test::contest_test
