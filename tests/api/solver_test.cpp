// The public solver and communicator, by the public headers alone.

#include "robusta/solver.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "robusta/log.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

std::string toy(const std::string& prefix, const std::string& more = "") {
  return "base_lr: 0.02 lr_policy: 'fixed' momentum: 0.9 random_seed: 3 max_iter: 6 snapshot_prefix: '" + prefix +
         "'\n" + more + R"(
net_param {
  layer { name: "data" type: "DummyData" top: "data" top: "label"
    dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 2 }
      data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
    inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
})";
}

std::vector<float> weights(Solver& solver) { return solver.net().read_parameter("ip", 0); }

TEST(ApiSolverTest, StepsAddUp) {
  const TempDir folder;
  Solver whole = Solver::from_text(toy(folder / "a")), parts = Solver::from_text(toy(folder / "b"));
  std::vector<double> losses;
  parts.on_iteration([&](const IterationReport& now) {
    EXPECT_EQ(now.iteration, static_cast<int>(losses.size()));
    EXPECT_EQ(now.max_iteration, 6);
    EXPECT_FLOAT_EQ(static_cast<float>(now.rate), 0.02f);
    losses.push_back(now.loss);
  });
  EXPECT_FALSE(whole.solve().stopped_early);
  parts.step(4);
  EXPECT_EQ(parts.iteration(), 4);
  parts.step(2);
  EXPECT_EQ(losses.size(), 6u);
  EXPECT_EQ(weights(whole), weights(parts));
}

TEST(ApiSolverTest, SnapshotsAreRestored) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  Net& net = solver.net();
  solver.step(3);
  const SnapshotFiles files = solver.snapshot();
  solver.step(3);
  const std::vector<float> end = weights(solver);
  solver.restore(files.state);
  EXPECT_EQ(&solver.net(), &net);
  EXPECT_EQ(solver.iteration(), 3);
  EXPECT_NE(weights(solver), end);
  solver.step(3);
  EXPECT_EQ(weights(solver), end);
  EXPECT_EQ(error_of([&] { solver.restore(folder / "none.solverstate"); }).kind(), ErrorKind::kModel);
  EXPECT_EQ(weights(solver), end) << "a failed restore changes nothing";
}

TEST(ApiSolverTest, StopsFromACallback) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  solver.on_iteration([&](const IterationReport& now) {
    if (now.iteration == 2) solver.request_stop();
  });
  EXPECT_TRUE(solver.solve().stopped_early);
  EXPECT_LE(solver.iteration(), 4);
  EXPECT_TRUE(std::filesystem::exists(folder / ("s_iter_" + std::to_string(solver.iteration()) + ".solverstate")));
}

TEST(ApiSolverTest, StopsFromAnotherThread) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s"));
  std::thread other;
  solver.on_iteration([&](const IterationReport& now) {
    if (now.iteration == 5) other = std::thread([&] { solver.request_stop(); });
  });
  solver.step(1 << 30);
  other.join();
  EXPECT_LT(solver.iteration(), 1 << 30);
}

TEST(ApiSolverTest, TestsAreTold) {
  const TempDir folder;
  Solver solver = Solver::from_text(toy(folder / "s", "test_iter: 2 test_interval: 3"));
  std::vector<int> at;
  solver.on_test([&](const TestReport& report) {
    at.push_back(report.iteration);
    ASSERT_EQ(report.outputs.size(), 1u);
    EXPECT_EQ(report.outputs[0].blob, "loss");
  });
  solver.solve();
  EXPECT_EQ(at, (std::vector<int>{0, 3, 6}));
  ASSERT_EQ(solver.test_nets(), 1);
  EXPECT_EQ(solver.test_net(0).read_parameter("ip", 0), weights(solver));
  EXPECT_EQ(error_of([&] { solver.test_net(1); }).kind(), ErrorKind::kUsage);
}

TEST(ApiSolverTest, ErrorsOfTheFileAreThrown) {
  EXPECT_EQ(error_of([] { Solver::from_file("/no/such.prototxt"); }).kind(), ErrorKind::kConfig);
  const Error error = error_of([] { Solver::from_text("bse_lr: 1", {}, "mine"); });
  EXPECT_TRUE(contains(error.what(), "mine:1"));
  EXPECT_TRUE(contains(error.what(), "base_lr"));
}

TEST(ApiSolverTest, AllRanksKnowTheSnapshotAndGoOnFromIt) {
  const TempDir folder;
  Communicator::run_threads(2, [&](Communicator& ranks) {
    SolverOptions options;
    options.communicator = &ranks;
    Solver solver = Solver::from_text(toy(folder / "s"), options);
    solver.step(2);
    const SnapshotFiles files = solver.snapshot();
    EXPECT_EQ(files.model, folder / "s_iter_2.caffemodel");
    EXPECT_EQ(files.state, folder / "s_iter_2.solverstate");
    solver.step(2);
    const std::vector<float> end = weights(solver);
    solver.restore(files.state);
    EXPECT_EQ(solver.iteration(), 2);
    solver.step(2);
    EXPECT_EQ(weights(solver), end);
  });
}

/// One that begins anew would wait for ever for those that resume.
TEST(ApiSolverTest, ARankThatStartsInAnotherWayIsAnError) {
  const TempDir folder;
  const Error error = error_of([&] {
    Communicator::run_threads(2, [&](Communicator& ranks) {
      SolverOptions options;
      options.communicator = &ranks;
      Solver solver = Solver::from_text(toy(folder / "s"), options);
      const SnapshotFiles files = solver.snapshot();
      solver.restore(ranks.rank() == 0 ? files.state : "");
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
  EXPECT_TRUE(contains(error.what(), "from a snapshot or anew"));
}

/// Of the solver's file and of its net's, by rank 0 alone; a solver that is restored has nothing new to say.
TEST(ApiSolverTest, WarnsOnceOfFieldsThatChangeNothing) {
  const TempDir folder;
  std::string text = toy(folder / "s", "test_iter: 2 test_interval: 3 solver_data_type: FLOAT16");
  text.insert(text.find("num_output"), "engine: CAFFE ");
  std::mutex mutex;
  std::vector<std::string> warnings;
  Communicator::run_threads(2, [&](Communicator& ranks) {
    const LogScope scope([&](const LogLine& line) {
      const std::lock_guard lock(mutex);
      if (line.text.find("changes nothing here") != std::string::npos) warnings.emplace_back(line.text);
    });
    SolverOptions options;
    options.communicator = &ranks;
    Solver solver = Solver::from_text(text, options, "mine");
    solver.step(1);
    solver.restore(solver.snapshot().state);
  });
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(contains(warnings[0], "mine:2: solver_data_type (NVIDIA) changes nothing here"));
  EXPECT_TRUE(contains(warnings[1], "engine (Intel) changes nothing here"));
}

TEST(ApiSolverTest, RanksOfThreadsTrainOneNet) {
  const TempDir folder;
  std::vector<float> ends[2];
  Communicator::run_threads(2, [&](Communicator& ranks) {
    SolverOptions options;
    options.communicator = &ranks;
    Solver solver = Solver::from_text(toy(folder / "s"), options);
    solver.step(3);
    ends[ranks.rank()] = weights(solver);
  });
  EXPECT_FALSE(ends[0].empty());
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(ApiCommunicatorTest, SumsOverThreads) {
  Communicator::run_threads(3, [](Communicator& ranks) {
    EXPECT_EQ(ranks.size(), 3);
    std::vector<float> numbers = {1, static_cast<float>(ranks.rank())};
    ranks.all_reduce(numbers);
    EXPECT_EQ(numbers, (std::vector<float>{3, 3}));
    int told = ranks.rank() == 1 ? 42 : 0;
    ranks.broadcast(&told, sizeof told, 1);
    EXPECT_EQ(told, 42);
    ranks.barrier();
  });
}

TEST(ApiCommunicatorTest, AnErrorOfARankIsThrown) {
  const Error error = error_of([] {
    Communicator::run_threads(2, [](Communicator& ranks) {
      if (ranks.rank() == 1) throw Error(ErrorKind::kData, "mine");
      ranks.barrier();
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
}

TEST(ApiCommunicatorTest, AloneAnswersForOneRank) {
  Communicator alone = Communicator::alone();
  double number = 5;
  alone.all_reduce(std::span<double>(&number, 1));
  EXPECT_EQ(number, 5);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(error_of([&] { alone.broadcast(&number, sizeof number, 1); }).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace robusta::test
