// What a training over ranks finds out about them.
#include <gtest/gtest.h>

#include <omp.h>

#include <chrono>
#include <regex>
#include <thread>

#include "comm/thread_ranks.h"
#include "solver/reports/pace.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/log_lines.h"

namespace robusta::test {
namespace {

int count_matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

using Disturb = std::function<void(Solver& solver, int rank, int iter)>;

/// Trains on threads as ranks on two hosts; `disturb` is called within each iteration. Returns the log.
std::string train(int ranks, const std::string& ddl, const Disturb& disturb, const std::string& settings = "",
                  const std::string& json = "", int iterations = 12) {
  const LogLines lines;
  run_thread_ranks(
      ranks,
      [&](Communicator& world) {
        omp_set_num_threads(1);
        Ranks group(world, parse_ddl_options(ddl));
        JsonLog log(group.root() ? json : "");
        SolverOptions options;
        options.ranks = &group;
        options.json = &log;
        const std::unique_ptr<Solver> solver = toy(settings, options);
        int iter = 0;
        solver->on_forward = [&](double) { disturb(*solver, group.rank(), iter++); };
        try {
          solver->step(iterations);
          solver->finish_updates();
        } catch (const EndedByPeer&) {}
      },
      2);
  return lines.text();
}

void nothing(Solver&, int, int) {}

/// Rank 2 takes longer in every iteration, by far more than a busy machine takes from the others.
void delay_rank_2(Solver&, int rank, int) {
  if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(15));
}

TEST(RankReports, AFlippedBitIsFoundAtTheNextCheck) {
  const Error error = error_of([] {
    train(4, "-check_iter 4", [](Solver& solver, int rank, int iter) {
      if (rank != 2 || iter != 5) return;
      // Between the reads of this iteration and its update, as a bad memory cell would.
      const ParamPtr weights = solver.train_net().layer_params("ip2")[0];
      static_cast<unsigned char*>(weights->data)[9] ^= 1;
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
  EXPECT_TRUE(contains(error.what(), "layer \"ip2\""));
  EXPECT_TRUE(contains(error.what(), "after iteration 8"));
  EXPECT_TRUE(contains(error.what(), "parameter 0 of rank 2 is not that of the other ranks"));
}

TEST(RankReports, EqualRanksPassTheChecks) { EXPECT_NO_THROW(train(4, "-check_iter 1", nothing)); }

TEST(RankReports, DumpShowsEachDimensionAndTheSlowestRank) {
  const std::string log = train(4, "-mode b:2x2 -dump_iter 4", delay_rank_2);
  const std::string number = R"([-+.e\d]+)";
  EXPECT_EQ(count_matches(log, "Iteration (4|8|12), communication of 4 iterations: " + number +
                                   " MB in 1 buckets, end to "
                                   "end " +
                                   number + " ms, exposed " + number + " ms = " + number + " % of an iteration of " +
                                   number + " ms"),
            3)
      << log;
  for (const char* dimension : {R"(X \(2 ranks, within a host\))", R"(Y \(2 ranks)"}) {
    EXPECT_EQ(count_matches(log, R"(\[MPI:0   \]    )" + std::string(dimension) + ".*: " + number + " ms, " + number +
                                     " MB sent, " + number + " GB/s"),
              3)
        << dimension << log;
  }
  EXPECT_EQ(count_matches(log, R"(slowest rank 2 \(host1\): )" + number + " ms of computing, " + number + " % above"),
            3)
      << log;
}

TEST(RankReports, NothingIsReportedUnasked) {
  const std::string log = train(4, "-mode b:2x2", nothing);
  EXPECT_EQ(count_matches(log, "communication of|slow|bucket [0-9]"), 0) << log;
  EXPECT_EQ(count_matches(log, "Gradients: .* MB in 1 buckets, "), 1) << log;
}

TEST(RankReports, DebugLevelsAddBucketsAndRanks) {
  const std::string log = train(2, "-dump_iter 12 -dbg_level 2 -bucket_mb 0.00002", nothing);
  EXPECT_GT(count_matches(log, "    bucket [0-9]+: [0-9]+ elements, 1 parameters, ip[12] to ip[12]"), 1) << log;
  EXPECT_EQ(count_matches(log, R"(    rank [01] \(host[01]\) computed )"), 2) << log;
}

TEST(RankReports, ARankThatStaysSlowIsNamedAfterThreeChecks) {
  const std::string log = train(4, "-rebind_iter 3", delay_rank_2, "", "", 12);
  EXPECT_EQ(count_matches(log, R"(rank 2 \(host1\) was slow in the last 3 checks)"), 2) << log;  // at 9 and at 12
}

TEST(RankReports, TheLogShowsExposedCommunicationAndTheSlowestRank) {
  const TempDir folder;
  const std::string log = train(4, "", delay_rank_2, "display: 10 max_iter: 21", folder / "log.json", 21);
  // All four ranks log here, three times; all but rank 2 wait for it nearly all the time. The first iteration is left
  // out: what is made on first use may take longer than the delay.
  EXPECT_GE(count_matches(log, R"(Speed: .* img/s, .* data wait [.\d]+ %, comm [\d.]+ %, slowest rank 2 \(host1\))"), 8)
      << log;
  const std::string json = read_file(folder / "log.json");
  EXPECT_EQ(count_matches(json, R"("event": "train".*"iter": [12]0,.*"comm": 0\.[2-9].*"slowest_rank": 2,)"), 2)
      << json;
}

TEST(RankReports, DumpsAreEventsToo) {
  const TempDir folder;
  train(4, "-mode b:2x2 -dump_iter 6", delay_rank_2, "", folder / "log.json");
  const std::string json = read_file(folder / "log.json");
  EXPECT_EQ(count_matches(json, R"("event": "communication".*"iter": (6|12), "iterations": 6, .*"slowest_rank": 2,)"
                                R"(.*"dimensions": \{"X .*"algorithm": .*"gb_per_s": )"),
            2)
      << json;
}

TEST(Pace, OfEqualsTheLowestIsSlowestAndAloneNobodyIs) {
  EXPECT_EQ(slowest_of(std::vector<double>{1}).rank, -1);
  EXPECT_EQ(slowest_of(std::vector<double>{2, 3, 3, 1}).rank, 1);
  EXPECT_DOUBLE_EQ(slowest_of(std::vector<double>{2, 3, 3, 1}).middle, 2);
  EXPECT_DOUBLE_EQ(slowest_of(std::vector<double>{2, 3, 3, 1}).lag(), 0.5);
}

TEST(Pace, OneGoodCheckClearsARank) {
  SlowRanks slow;
  const std::vector<double> even{1, 1, 1.05}, odd{1, 1, 1.2};
  EXPECT_TRUE(slow.check(odd).empty());
  EXPECT_TRUE(slow.check(odd).empty());
  EXPECT_TRUE(slow.check(even).empty());
  EXPECT_TRUE(slow.check(odd).empty());
  EXPECT_TRUE(slow.check(odd).empty());
  EXPECT_EQ(slow.check(odd), std::vector<int>{2});
}

}  // namespace
}  // namespace robusta::test
