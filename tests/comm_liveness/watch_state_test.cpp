// The judgement of hundreds of watches under a simulated clock and network.
#include "comm/liveness/watch_state.h"

#include <gtest/gtest.h>

#include "comm_liveness/sim_job.h"
#include "robusta/error.h"

namespace robusta::test::watch_state_test {
namespace {

constexpr int kCode = static_cast<int>(ErrorKind::kCommunication);

/// All that can end have ended within `seconds` of `since`, by the same fault of the same rank.
void expect_ended(const SimJob& job, double since, double seconds, Fault fault, int rank) {
  const double last = job.last_end();
  EXPECT_LE(last - since, seconds) << (std::isnan(last) ? "some ranks live on" : "");
  for (const auto& node : job.nodes) {
    if (node.dead || node.stopped || !node.state.verdict()) continue;
    EXPECT_EQ(node.state.verdict()->fault, fault) << node.rank;
    EXPECT_EQ(node.state.verdict()->rank, RankId(rank)) << node.rank;
  }
}

TEST(WatchStateTest, AHealthyJobGoesOn) {
  SimJob job(12, 3);
  job.run(300);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node) && !node.state.verdict());
}

TEST(WatchStateTest, WorkPerBeatDoesNotGrowWithTheJob) {
  SimJob job(100, 2);
  job.run(20);
  EXPECT_LE(job.sent_by[0], 21 * (kArity + 1));
  EXPECT_LE(job.messages, 21 * 2 * (job.size() - 1));
}

TEST(WatchStateTest, EveryDeathEndsTheJobAtOnceWithOneReport) {
  for (int victim = 0; victim < 60; ++victim) {
    SCOPED_TRACE(victim);
    SimJob job(20, 3);
    job.run(5);
    const double since = job.now;
    job.kill(victim);
    job.run(3);
    expect_ended(job, since, 1.5, Fault::kDied, victim);
    EXPECT_EQ(job.reporters(Say::kReport), std::vector<int>{victim == 0 ? 3 : 0});
    EXPECT_TRUE(job.reporters(Say::kLine).empty());
  }
}

TEST(WatchStateTest, EveryCutHostEndsBothSidesInTime) {
  for (int host = 0; host < 20; ++host) {
    SCOPED_TRACE(host);
    SimJob job(20, 3);
    job.run(5);
    const double since = job.now;
    job.cut(host);
    job.run(59);
    EXPECT_TRUE(job.reporters(Say::kReport).empty()) << "too early";
    job.run(12);
    EXPECT_LE(job.last_end() - since, 65) << "some live on";
    const std::vector<int> reporters = job.reporters(Say::kReport);
    // Rank 0 reports, and so does the host next to it when they have lost each other: neither can know of the other.
    EXPECT_EQ(reporters, host <= 1 ? (std::vector<int>{0, 3}) : std::vector<int>{0});
    if (host > 0) {
      EXPECT_EQ(job.nodes[0].state.verdict()->rank, RankId(3 * host));
    }
    EXPECT_LE(job.reporters(Say::kLine).size(), static_cast<size_t>(kArity));
    EXPECT_EQ(job.nodes[static_cast<size_t>(3 * host)].state.verdict()->alone != 0, host <= 2)
        << "hosts with several links can tell that it is they who are cut off";
  }
}

TEST(WatchStateTest, ACrashedHostIsReportedWithWhatItsLeaderDid) {
  SimJob job(10, 2);
  auto& leader = job.nodes[18];
  leader.sample.iteration = 1203;
  copy_text(leader.sample.doing, "conv4 backward");
  job.run(5);
  const double since = job.now;
  job.crash_host(9);
  job.run(70);
  expect_ended(job, since, 65, Fault::kSilent, 18);
  const Verdict& verdict = *job.nodes[0].state.verdict();
  EXPECT_EQ(verdict.last.iteration, 1203);
  EXPECT_STREQ(verdict.last.doing, "conv4 backward");
  EXPECT_EQ(verdict.code, kCode);
  EXPECT_NEAR(verdict.quiet, 60, 1.1);
}

TEST(WatchStateTest, ACutThatHealsInTimeIsForgotten) {
  SimJob job(20, 3);
  job.run(5);
  for (int host : {0, 1, 12}) {
    job.cut(host);
    job.run(57);
    job.heal(host);
    job.run(30);
  }
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
}

TEST(WatchStateTest, ALinkThatComesUpLateIsJudgedFromItsFirstWordOn) {
  SimJob job(4, 2, false);
  job.run(2);
  const double since = job.now;
  job.cut(3);
  job.run(70);
  EXPECT_LE(job.last_end() - since, 65) << "some live on";
}

TEST(WatchStateTest, ANeighbourThatWasNeverHeardOfIsSilentToo) {
  SimJob job(4, 2, false);
  const double since = job.now;
  job.crash_host(3);
  job.run(95);
  expect_ended(job, since, 95, Fault::kSilent, 6);
}

TEST(WatchStateTest, AProcessThatIsKilledAfterALongSilenceWasSilent) {
  SimJob job(4, 2);
  job.run(5);
  job.nodes[3].stopped = true;
  job.run(40);
  job.kill(3);
  const double since = job.now;
  job.run(5);
  expect_ended(job, since, 1.5, Fault::kSilent, 3);
}

TEST(WatchStateTest, AStoppedProcessIsFoundByItsNeighbours) {
  for (int victim : {0, 1, 3, 4, 59}) {
    SCOPED_TRACE(victim);
    SimJob job(20, 3);
    job.run(5);
    const double since = job.now;
    job.nodes[static_cast<size_t>(victim)].stopped = true;
    job.run(75);
    expect_ended(job, since, 65, Fault::kSilent, victim);
    EXPECT_EQ(job.reporters(Say::kReport), std::vector<int>{victim == 0 ? 3 : 0});
  }
}

TEST(WatchStateTest, AProcessThatWakesAfterTheOthersEndedEndsToo) {
  SimJob job(4, 1);
  job.run(5);
  job.nodes[2].stopped = true;
  job.run(75);
  job.nodes[2].stopped = false;
  const double since = job.now;
  job.run(5);
  EXPECT_LE(job.last_end() - since, 1);
}

TEST(WatchStateTest, ASuspendedJobGoesOnWhenItIsResumed) {
  SimJob job(8, 2);
  job.run(5);
  for (auto& node : job.nodes) node.stopped = true;
  job.run(500);
  for (auto& node : job.nodes) node.stopped = false;
  job.run(30);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
}

TEST(WatchStateTest, AStoppedProcessThatGoesOnInTimeDoesNotAccuseAnybody) {
  SimJob job(8, 2);
  job.run(5);
  for (int victim : {0, 2, 5}) {
    job.nodes[static_cast<size_t>(victim)].stopped = true;
    job.run(58);
    job.nodes[static_cast<size_t>(victim)].stopped = false;
    job.run(10);
  }
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
}

/// All wait for `rank`, which computes for ever.
void stall(SimJob& job, int rank) {
  for (auto& node : job.nodes) {
    node.moves = false;
    if (node.rank != rank) node.sample.activity = Activity::kWaiting;
  }
}

TEST(WatchStateTest, AStalledThreadIsNamedNotThoseThatWaitForIt) {
  for (int victim : {0, 7, 38}) {
    SCOPED_TRACE(victim);
    SimJob job(13, 3);
    job.run(5);
    const double since = job.now;
    stall(job, victim);
    job.run(59);
    EXPECT_TRUE(std::isnan(job.last_end()));
    job.run(10);
    expect_ended(job, since, 63, Fault::kStalled, victim);
    EXPECT_EQ(job.reporters(Say::kReport), std::vector<int>{0});
  }
}

/// For `seconds` all threads of the ranks have no processor for `share` of the time.
void starve(SimJob& job, double seconds, double share) {
  for (const double end = job.now + seconds; job.now < end;) {
    for (auto& node : job.nodes) node.sample.starved += share;
    job.run(1);
  }
}

TEST(WatchStateTest, WhoHasNoProcessorIsNotAccused) {
  SimJob job(13, 3);
  job.run(5);
  stall(job, 7);
  starve(job, 200, 0.9);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
  job.nodes[7].moves = true;
  job.run(400);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
}

TEST(WatchStateTest, WhoHangsAmongTheStarvedIsFoundInTheEnd) {
  SimJob job(13, 3);
  job.run(5);
  const double since = job.now;
  stall(job, 7);
  starve(job, 320, 1);
  expect_ended(job, since, 5 * 60 + 5, Fault::kStalled, 7);
  EXPECT_NEAR(job.nodes[0].state.verdict()->last.starved, 4 * 60, 1);
}

/// The process of `rank` gets a processor, for a moment, only once in `period` seconds.
void starve_watch(SimJob& job, int rank, double period) {
  auto& node = job.nodes[static_cast<size_t>(rank)];
  node.stopped = true;
  job.run(period);
  node.stopped = false;
  node.sample.starved += period;
  job.run(1);
}

TEST(WatchStateTest, AWatchThatIsLateForWantOfAProcessorIsGivenMoreTime) {
  SimJob job(13, 3);
  job.run(5);
  for (int turn = 0; turn < 3; ++turn) starve_watch(job, 7, 25);
  starve_watch(job, 7, 90);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
  const double since = job.now;
  job.nodes[7].stopped = true;
  job.run(4 * 60 + 5);
  expect_ended(job, since, 4 * 60 + 5, Fault::kSilent, 7);
}

TEST(WatchStateTest, AWatchThatWasStoppedIsGivenNoMoreTime) {
  SimJob job(13, 3);
  job.run(5);
  job.nodes[7].stopped = true;
  job.run(40);
  job.nodes[7].stopped = false;
  job.run(5);
  const double since = job.now;
  job.nodes[7].stopped = true;
  job.run(70);
  expect_ended(job, since, 63, Fault::kSilent, 7);
}

TEST(WatchStateTest, WaitingForASlowRankIsNoFault) {
  SimJob job(13, 3);
  stall(job, 7);
  job.nodes[7].moves = true;
  job.run(400);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
}

TEST(WatchStateTest, ALongStepMayTakeItsOwnLimit) {
  SimJob job(5, 2);
  job.run(5);
  stall(job, 4);
  job.nodes[4].sample.activity = Activity::kPausing;
  job.nodes[4].sample.limit = 300;
  const double since = job.now;
  job.run(295);
  EXPECT_TRUE(std::isnan(job.last_end()));
  job.run(10);
  expect_ended(job, since, 303, Fault::kStalled, 4);
}

TEST(WatchStateTest, RanksThatAllWaitAreADeadlockOfTheOneFurthestBehind) {
  SimJob job(100, 1);
  for (auto& node : job.nodes) node.sample.iteration = node.rank == 77 ? 11 : 12;
  job.run(5);
  stall(job, -1);
  const double since = job.now;
  job.run(60);
  EXPECT_TRUE(std::isnan(job.last_end()));
  job.run(10);
  expect_ended(job, since, 67, Fault::kDeadlock, 77);
  EXPECT_EQ(job.reporters(Say::kReport), std::vector<int>{0});
}

TEST(WatchStateTest, OfRanksThatAllWaitTheOneWithoutAnAnswerIsNamed) {
  SimJob job(100, 1);
  for (auto& node : job.nodes) node.sample.iteration = node.rank == 77 ? 11 : 12;
  job.run(5);
  stall(job, -1);
  const double since = job.now;
  job.nodes[42].sample.unanswered = {RankId(43), 55};
  job.nodes[50].sample.unanswered = {RankId(51), 40};
  job.nodes[42].sample.doing[0] = 'x';
  job.run(70);
  expect_ended(job, since, 67, Fault::kDeadlock, 42);
  EXPECT_EQ(job.nodes[0].state.verdict()->unanswered.to, RankId(43));
  EXPECT_STREQ(job.nodes[0].state.verdict()->last.doing, "x");
}

TEST(WatchStateTest, AnAnswerThatIsAwaitedForAShortTimeExplainsNothing) {
  SimJob job(9, 1);
  for (auto& node : job.nodes) node.sample.iteration = node.rank == 7 ? 11 : 12;
  stall(job, -1);
  const double since = job.now;
  job.nodes[2].sample.unanswered = {RankId(3), 20};
  job.run(70);
  expect_ended(job, since, 65, Fault::kDeadlock, 7);
  EXPECT_FALSE(job.nodes[0].state.verdict()->unanswered.to);
}

// TCP doubles the time between its repetitions, so that what waits for a packet may wait as long again after the cut.
TEST(WatchStateTest, AfterACutWaitingRanksAreGivenAsMuchTimeAgain) {
  SimJob job(20, 3);
  job.run(5);
  stall(job, -1);
  job.cut(12);
  job.run(55);
  job.heal(12);
  job.run(55);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
  const double since = job.now;
  job.run(15);
  expect_ended(job, since, 15, Fault::kDeadlock, 0);
}

TEST(WatchStateTest, RanksThatFinishEarlyDoNotAlarmTheOthers) {
  SimJob job(13, 3);
  for (int rank : {0, 1, 4, 38}) job.nodes[static_cast<size_t>(rank)].state.finish(job.now);
  job.run(200);
  for (const auto& node : job.nodes) EXPECT_TRUE(job.lives(node)) << node.rank;
  const double since = job.now;
  for (auto& node : job.nodes) node.state.finish(job.now);
  job.run(5);
  EXPECT_LE(job.last_end() - since, 0.5) << "the end need not wait for a beat";
  for (const auto& node : job.nodes) EXPECT_FALSE(node.state.verdict()) << node.rank;
}

TEST(WatchStateTest, AFinishedRankWithNobodyBelowItMayLeave) {
  SimJob job(4, 3);
  job.nodes[5].state.finish(job.now);
  job.run(5);
  job.kill(5);
  job.run(100);
  EXPECT_FALSE(job.nodes[0].state.verdict());
  for (auto& node : job.nodes) node.state.finish(job.now);
  job.run(5);
  EXPECT_FALSE(std::isnan(job.last_end()));
}

TEST(WatchStateTest, ADeathWhileOthersHaveFinishedEndsThem) {
  SimJob job(4, 3);
  for (auto& node : job.nodes) {
    if (node.rank != 7) node.state.finish(job.now);
  }
  job.run(5);
  const double since = job.now;
  job.kill(7);
  job.run(5);
  expect_ended(job, since, 1.5, Fault::kDied, 7);
}

TEST(WatchStateTest, AnAnnouncedErrorEndsAllWithItsCodeAndNoReport) {
  for (int rank : {0, 20, 38}) {
    SCOPED_TRACE(rank);
    SimJob job(13, 3);
    job.run(5);
    const double since = job.now;
    job.nodes[static_cast<size_t>(rank)].state.announce(6, "the loss is not finite", job.now);
    job.run(3);
    expect_ended(job, since, 1.5, Fault::kEnded, rank);
    for (const auto& node : job.nodes) {
      EXPECT_EQ(node.state.verdict()->code, 6);
      EXPECT_STREQ(node.state.verdict()->text, "the loss is not finite");
      EXPECT_EQ(node.state.say(), Say::kNothing);
    }
  }
}

TEST(WatchStateTest, OfSeveralErrorsAllAgreeOnTheCause) {
  SimJob job(13, 3);
  job.run(5);
  job.step = 0.005;
  // Another rank notices the broken connection first, the reader's own error comes a little later.
  job.nodes[38].state.announce(kCode, "a peer is gone", job.now);
  job.run(0.1);
  job.nodes[20].state.announce(3, "the database is cut off", job.now);
  job.nodes[21].state.announce(3, "the database is cut off", job.now);
  job.run(3);
  for (const auto& node : job.nodes) {
    EXPECT_EQ(node.state.verdict()->code, 3) << node.rank;
    EXPECT_EQ(node.state.verdict()->rank, RankId(20)) << node.rank;
  }
}

TEST(WatchStateTest, ADeathCountsMoreThanTheErrorsItCauses) {
  SimJob job(13, 3);
  job.run(5);
  job.nodes[38].state.announce(kCode, "a peer is gone", job.now);
  job.kill(20);
  job.run(3);
  expect_ended(job, job.now - 3, 3, Fault::kDied, 20);
}

TEST(WatchStateTest, TheRootKnowsWhoIsFurthestBehind) {
  SimJob job(30, 2);
  for (auto& node : job.nodes) node.sample.iteration = 100 + node.rank % 7 + (node.rank == 41 ? -50 : 0);
  job.run(5);
  const Status last = job.nodes[0].state.straggler(job.now);
  EXPECT_EQ(last.rank, RankId(41));
  EXPECT_EQ(last.iteration, 100 + 41 % 7 - 50);
}

}  // namespace
}  // namespace robusta::test::watch_state_test
