// The watch with real processes, sockets and signals.
#include "comm/liveness/liveness_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "comm_liveness/forked_job.h"
#include "comm_liveness/listening.h"

namespace robusta::test::liveness_watch_test {
namespace {

constexpr int kCode = static_cast<int>(ErrorKind::kCommunication);
constexpr double kTimeout = 2;
/// How much longer than told all may take on a busy machine; the promise to users is 10 s.
constexpr double kSlack = 5;

LivenessOptions options(double timeout = kTimeout) {
  LivenessOptions result;
  result.timeout_s = timeout;
  result.on_failure = [](const Failure& failure) {
    dprintf(STDERR_FILENO, "CALLBACK %d %d %s\n", failure.code, failure.rank, failure.doing.c_str());
  };
  return result;
}

/// Computes step after step until `iterations` are done, and takes its leave.
int train(LivenessWatch& watch, ForkedJob& job, int64_t iterations = 1000000) {
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    watch.progress(iteration);
    watch.doing("conv4 backward");
    if (iteration == 0) job.ready();
    nap(0.01);
  }
  watch.goodbye();
  return 0;
}

int train_as_told(Communicator& world, ForkedJob& job) {
  LivenessWatch watch(world, options());
  return train(watch, job);
}

/// Three hosts of three ranks.
std::vector<std::string> three_by_three() { return {"n1", "n1", "n1", "n2", "n2", "n2", "n3", "n3", "n3"}; }

void expect_all_ended(const ForkedJob& job, int but, int code = kCode) {
  for (const auto& [rank, ended] : job.codes) {
    if (rank != but) {
      EXPECT_EQ(ended, code) << "rank " << rank << ": " << job.said(rank);
    }
  }
}

TEST(LivenessWatchTest, OneRankIsNotWatched) {
  ForkedJob job({"n1"}, [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    if (watch.peer_failed()) return 1;
    return train(watch, job, 3);
  });
  EXPECT_TRUE(job.wait_end(kSlack));
  EXPECT_EQ(job.codes[0], 0) << job.said(0);
}

TEST(LivenessWatchTest, EarlyAndLateRanksEndInPeace) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options(1));
    // Rank 0 and another leader are ready long before the last.
    return train(watch, job, world.rank() % 6 == 0 ? 1 : 20 * world.rank());
  });
  EXPECT_TRUE(job.wait_end(20));
  expect_all_ended(job, -1, 0);
  EXPECT_EQ(job.all_said(), "");
  EXPECT_EQ(job.exit_file(), "");
}

TEST(LivenessWatchTest, AKilledRankEndsAllAtOnceWithOneReport) {
  for (int victim : {8, 3, 0}) {
    SCOPED_TRACE(victim);
    ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
      LivenessWatch watch(world, options(60));
      return train(watch, job);
    });
    ASSERT_TRUE(job.wait_ready()) << job.all_said();
    // What it does is known from its last beat.
    nap(2.5);
    job.signal(victim, SIGKILL);
    EXPECT_TRUE(job.wait_end(kSlack)) << "a death need not wait for the timeout";
    expect_all_ended(job, victim);
    const int reporter = victim == 0 ? 3 : 0;
    const std::string report = job.said(reporter);
    for (const std::string& part :
         {"rank " + std::to_string(victim) + " on n" + std::to_string(victim / 3 + 1) + " (pid " +
              std::to_string(job.pid(victim)) + ") has died",
          std::string("conv4 backward, computing, iteration "), std::string("All 9 ranks end with code 8")}) {
      EXPECT_EQ(count(report, part), 1) << part << "\n" << report;
    }
    EXPECT_EQ(count(job.all_said(), "error:"), 1) << job.all_said();
    EXPECT_EQ(count(job.all_said(), "CALLBACK 8 " + std::to_string(victim) + " conv4 backward"), 8) << job.all_said();
    EXPECT_EQ(job.exit_file().substr(0, 4), "8 " + std::to_string(victim) + " ");
    std::printf("rank %d killed: all ended within %.2f s\n", victim, job.slowest());
  }
}

TEST(LivenessWatchTest, AVerdictPassesSeveralLevelsOfHosts) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 24; ++rank) hosts.push_back("n" + std::to_string(1 + rank / 2));
  ForkedJob job(hosts, train_as_told);
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  job.signal(23, SIGKILL);
  EXPECT_TRUE(job.wait_end(kSlack));
  expect_all_ended(job, 23);
  EXPECT_EQ(count(job.said(0), "rank 23 on n12"), 1) << job.said(0);
  EXPECT_EQ(count(job.all_said(), "error:"), 1) << job.all_said();
}

TEST(LivenessWatchTest, AStoppedRankIsFoundAndKilledByItsHost) {
  for (int victim : {4, 3}) {
    SCOPED_TRACE(victim);
    ForkedJob job(three_by_three(), train_as_told);
    ASSERT_TRUE(job.wait_ready()) << job.all_said();
    nap(0.2);
    job.signal(victim, SIGSTOP);
    EXPECT_TRUE(job.wait_end(kTimeout + kSlack));
    expect_all_ended(job, victim);
    EXPECT_EQ(job.codes[victim], -SIGKILL) << "its own host ends it";
    EXPECT_GT(job.took[0], kTimeout - 0.1);
    EXPECT_EQ(count(job.said(0), "rank " + std::to_string(victim) + " on n2"), 1) << job.said(0);
    EXPECT_EQ(count(job.said(0), "has not been heard of"), 1) << job.said(0);
    EXPECT_EQ(count(job.all_said(), "error:"), 1) << job.all_said();
    std::printf("rank %d stopped: all ended within %.2f s, timeout %.0f s\n", victim, job.slowest(), kTimeout);
  }
}

TEST(LivenessWatchTest, AStoppedHostIsReportedAndEndsWhenItWakes) {
  ForkedJob job(three_by_three(), train_as_told);
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  for (int rank : {6, 7, 8}) job.signal(rank, SIGSTOP);
  EXPECT_FALSE(job.wait_end(kTimeout + 2));
  for (int rank : {6, 7, 8}) job.signal(rank, SIGCONT);
  EXPECT_TRUE(job.wait_end(kSlack));
  expect_all_ended(job, -1);
  EXPECT_EQ(count(job.said(0), "rank 6 on n3"), 1) << job.said(0);
  EXPECT_EQ(count(job.said(0), "n3 has ranks 6-8"), 1) << job.said(0);
}

TEST(LivenessWatchTest, AStopWithinTheTimeoutIsForgiven) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    return train(watch, job, 600);
  });
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  for (int victim : {0, 3, 7}) {
    job.signal(victim, SIGSTOP);
    nap(0.6 * kTimeout);
    job.signal(victim, SIGCONT);
    nap(0.1);
  }
  EXPECT_TRUE(job.wait_end(20));
  expect_all_ended(job, -1, 0);
  EXPECT_EQ(job.all_said(), "");
}

TEST(LivenessWatchTest, AStalledThreadIsNamedWhileTheOthersWait) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    watch.progress(12);
    if (world.rank() == 5) {
      watch.doing("reading key 00071");
    } else {
      watch.doing("bucket 3", Activity::kWaiting);
    }
    job.ready();
    for (;;) nap(1);
    return 0;
  });
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  EXPECT_TRUE(job.wait_end(kTimeout + kSlack));
  expect_all_ended(job, -1);
  EXPECT_EQ(count(job.said(0), "rank 5 on n2"), 2) << job.said(0);
  EXPECT_EQ(count(job.said(0), "stands still"), 1) << job.said(0);
  EXPECT_EQ(count(job.said(0), "reading key 00071, computing, iteration 12"), 1) << job.said(0);
  EXPECT_EQ(count(job.all_said(), "error:"), 1) << job.all_said();
  std::printf("rank 5 stalled: all ended within %.2f s, timeout %.0f s\n", job.slowest(), kTimeout);
}

TEST(LivenessWatchTest, RanksThatWaitForEachOtherEnd) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    watch.progress(world.rank() == 7 ? 4 : 5);
    watch.doing(world.rank() == 7 ? "bucket 9" : "bucket 0", Activity::kWaiting);
    job.ready();
    for (;;) nap(1);
    return 0;
  });
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  EXPECT_TRUE(job.wait_end(kTimeout + kSlack));
  expect_all_ended(job, -1);
  EXPECT_EQ(count(job.said(0), "rank 7 on n3"), 1) << job.said(0);
  EXPECT_EQ(count(job.said(0), "wait for each other"), 1) << job.said(0);
  EXPECT_EQ(count(job.said(0), "bucket 9, waiting for other ranks, iteration 4"), 1) << job.said(0);
}

TEST(LivenessWatchTest, AnAnnouncedErrorEndsAllQuietlyWithItsCode) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    // Both see the same error; one of them is to speak.
    if (world.rank() != 5 && world.rank() != 7) return train(watch, job);
    job.ready();
    nap(0.3);
    const Failure failure = watch.announce_end(6, "the loss is not finite\nmore");
    if (failure.own) dprintf(STDERR_FILENO, "caffe: error: rank %d: the loss is not finite\n", world.rank());
    return failure.code;
  });
  EXPECT_TRUE(job.wait_end(kSlack));
  expect_all_ended(job, -1, 6);
  EXPECT_EQ(count(job.all_said(), "error:"), 1) << job.all_said();
  EXPECT_EQ(count(job.said(5), "error:"), 1) << job.all_said();
  EXPECT_EQ(job.exit_file(), "6 5 the loss is not finite\n");
  std::printf("error announced: all ended within %.2f s\n", job.slowest());
}

TEST(LivenessWatchTest, ARankThatHangsAfterItsErrorIsEnded) {
  ForkedJob job({"n1", "n2"}, [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    if (world.rank() == 0) return train(watch, job);
    watch.announce_end(3, "the database is cut off");
    for (;;) nap(1);
    return 0;
  });
  EXPECT_TRUE(job.wait_end(5 + kSlack));
  expect_all_ended(job, -1, 3);
}

TEST(LivenessWatchTest, AnEndDoesNotWaitForAFullPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string much(1 << 12, 'x');
  while (write(ends[1], much.data(), much.size()) > 0) continue;
  fcntl(ends[1], F_SETFL, 0);
  ForkedJob job({"n1", "n2"}, train_as_told, [&](int) { dup2(ends[1], STDERR_FILENO); });
  ASSERT_TRUE(job.wait_ready());
  job.signal(1, SIGKILL);
  EXPECT_TRUE(job.wait_end(3 + kSlack));
  EXPECT_EQ(job.codes[0], kCode);
  close(ends[0]);
  close(ends[1]);
}

TEST(LivenessWatchTest, StrangersAreTurnedAway) {
  ForkedJob job({"n1", "n2"}, [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    return train(watch, job, 150);
  });
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  // Every port of rank 0 that listens is spoken to as rank 1 would, but without the token.
  int spoken = 0;
  for (const sockaddr_in& place : listening_of(job.pid(0))) {
    const int fd = connect_to(place);
    if (fd < 0) continue;
    const uint32_t words[] = {28, 1, 0x52425354, 1, 0, 0, 0, 0, 0};
    send(fd, words, sizeof words, MSG_NOSIGNAL);
    ++spoken;
    close(fd);
  }
  EXPECT_GE(spoken, 1);
  EXPECT_TRUE(job.wait_end(15));
  expect_all_ended(job, -1, 0);
  EXPECT_EQ(job.all_said(), "");
}

TEST(LivenessWatchTest, ARankKnowsWhoIsFurthestBehind) {
  ForkedJob job({"n1", "n1", "n2"}, [](Communicator& world, ForkedJob& job) {
    LivenessWatch watch(world, options());
    watch.progress(world.rank() == 2 ? 3 : 40);
    watch.doing("conv1 forward");
    int code = 0;
    if (world.rank() == 0) {
      nap(0.5);
      const LivenessWatch::Straggler last = watch.straggler();
      code = last.rank == 2 && last.iteration == 3 && last.doing == "conv1 forward" && last.still_s > 0.2 ? 0 : 1;
    }
    nap(world.rank() == 0 ? 0 : 1.5);
    watch.goodbye();
    return code;
  });
  EXPECT_TRUE(job.wait_end(kSlack));
  expect_all_ended(job, -1, 0);
}

/// Of an elastic job: the others are told, say nothing, and live on.
TEST(LivenessWatchTest, WhoGoesOnWithoutALostRankIsNotEnded) {
  ForkedJob job(three_by_three(), [](Communicator& world, ForkedJob& job) {
    std::atomic<int> lost{-1};
    LivenessOptions elastic = options();
    elastic.goes_on = [&](const Failure& failure) {
      lost = failure.fault == liveness::Fault::kDied ? failure.rank : 99;
      return true;
    };
    LivenessWatch watch(world, elastic);
    watch.progress(0);
    watch.doing("conv4 backward");
    job.ready();
    while (lost < 0) {
      watch.touch();
      nap(0.01);
    }
    nap(0.5);  // the watch would have ended it by now
    return 20 + lost;
  });
  ASSERT_TRUE(job.wait_ready(kSlack));
  job.signal(4, SIGKILL);
  EXPECT_TRUE(job.wait_end(kTimeout + kSlack));
  expect_all_ended(job, 4, 24);
  EXPECT_EQ(job.all_said(), "");
  EXPECT_EQ(job.exit_file(), "");
}

}  // namespace
}  // namespace robusta::test::liveness_watch_test
