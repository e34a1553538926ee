// test_and_snapshot_last_epochs: when tests and snapshots come, what they are called, and that a resume finds them.
#include "solver/loop/last_epochs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/str.h"
#include "data/sample_db.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

/// Trains on `records` images in batches of 8, and tests with two batches of 4.
class LastEpochs : public testing::Test {
 protected:
  SolverDef def(int records, const std::string& settings) {
    const std::string db = folder_ / ("db" + std::to_string(records));
    if (!fs::exists(db)) {
      write_database(db, records, [](int i) { return raw_datum({1, 2, 2}, i % 3, static_cast<uint64_t>(i)); });
    }
    const auto data = [&](const char* phase, int batch) {
      return str("layer { name: '", phase, "' type: 'Data' top: 'data' top: 'label' include { phase: ", phase,
                 " } data_param { source: '", db, "' backend: LMDB batch_size: ", batch, " } ",
                 "transform_param { scale: 0.01 } } ");
    };
    return parse_solver("base_lr: 0.01 lr_policy: 'fixed' random_seed: 3 snapshot_prefix: '" + (folder_ / "toy") +
                            "' " + settings + " net_param { " + data("TRAIN", 8) + data("TEST", 4) + R"(
      layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } })",
                        "epochs.prototxt");
  }
  /// The iterations with a test that nothing else asks for.
  std::vector<int> tested_at(int records, const std::string& settings) {
    std::vector<int> iterations;
    Solver solver(def(records, settings + " test_iter: 2 test_interval: 1000 test_initialization: false"), {});
    solver.on_test = [&](int, const auto&) { iterations.push_back(solver.state().iter); };
    solver.solve();
    return iterations;
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.is_regular_file() && entry.path().extension() == ".solverstate") {
        names.push_back(entry.path().stem().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  TempDir folder_;
};

/// Of 40 records an epoch is 5 iterations, of 12 one and a half; epochs are counted back from the end.
TEST_F(LastEpochs, EndWithTheirIterations) {
  EXPECT_EQ(tested_at(40, "max_iter: 12 test_and_snapshot_last_epochs: 3"), (std::vector<int>{2, 7, 12}));
  EXPECT_EQ(tested_at(40, "max_iter: 12 test_and_snapshot_last_epochs: 9"), (std::vector<int>{2, 7, 12}));
  EXPECT_EQ(tested_at(12, "max_iter: 12 test_and_snapshot_last_epochs: 4"), (std::vector<int>{8, 9, 11, 12}));
  EXPECT_EQ(tested_at(4, "max_iter: 3 test_and_snapshot_last_epochs: 3"), (std::vector<int>{2, 3}));
  EXPECT_EQ(tested_at(40, "max_iter: 12 iter_size: 5 test_and_snapshot_last_epochs: 2"), (std::vector<int>{11, 12}));
  EXPECT_EQ(tested_at(40, "max_iter: 12"), (std::vector<int>{}));
}

TEST_F(LastEpochs, SnapshotsHaveTheScoresOfTheirTest) {
  std::vector<double> scores;
  Solver solver(def(40,
                    "max_iter: 10 test_and_snapshot_last_epochs: 2 test_iter: 2 test_interval: 1000 "
                    "test_initialization: false"),
                {});
  solver.on_test = [&](int, const std::vector<OutputBlob>& means) { scores.push_back(means.at(0).values.at(0)); };
  solver.solve();
  ASSERT_EQ(scores.size(), 2u);
  const auto name = [&](int iter, size_t test) {
    return str("toy_iter_", iter, "_score0_", static_cast<float>(scores[test]));
  };
  EXPECT_EQ(files(), (std::vector<std::string>{"toy_iter_10", name(10, 1), name(5, 0)}));
  EXPECT_EQ(newest_snapshot(folder_ / "toy"), folder_ / "toy_iter_10.solverstate");
}

TEST_F(LastEpochs, ATrainingResumesFromTheirSnapshots) {
  const std::string settings =
      "max_iter: 10 momentum: 0.9 test_and_snapshot_last_epochs: 2 snapshot_after_train: false "
      "test_iter: 2 test_interval: 5 test_initialization: false";
  Solver whole(def(40, settings), {});
  int tests = 0;
  whole.on_test = [&](int, const auto&) { ++tests; };
  whole.solve();
  EXPECT_EQ(tests, 2) << "those of test_interval are at the same iterations";
  const std::vector<std::string> found = files();
  ASSERT_EQ(found.size(), 2u);
  fs::remove(folder_ / (found[0] + ".solverstate"));  // that of iteration 10
  SolverOptions options;
  options.snapshot = newest_snapshot(folder_ / "toy");
  EXPECT_EQ(options.snapshot, folder_ / (found[1] + ".solverstate"));
  Solver resumed(def(40, settings), options);
  EXPECT_EQ(resumed.state().iter, 5);
  resumed.solve();
  EXPECT_EQ(everything(resumed), everything(whole));
  EXPECT_EQ(files(), found);
}

/// Nobody knows where epochs end: one test and one snapshot, at the end of training.
TEST_F(LastEpochs, OfASourceWithoutEndAreTheEndOfTraining) {
  const auto solver =
      toy("max_iter: 4 test_and_snapshot_last_epochs: 3 test_iter: 1 test_interval: 1000 "
          "test_initialization: false snapshot_prefix: '" +
          (folder_ / "toy") + "'");
  std::vector<int> iterations;
  solver->on_test = [&](int, const auto&) { iterations.push_back(solver->state().iter); };
  solver->solve();
  EXPECT_EQ(iterations, (std::vector<int>{4}));
  EXPECT_EQ(files().size(), 2u);
}

TEST(SnapshotNames, ScoresComeBehindTheIteration) {
  EXPECT_EQ(score_text({0.5, 1e-7, 3, 4, 5, 6}), "_score0_0.5_score1_1e-07_score2_3_score3_4_score4_5");
  EXPECT_EQ(snapshot_iteration("a_iter_7_score0_0.5_score1_-1e-07.solverstate", "a", ".solverstate"), 7);
  for (const char* other : {"a_iter_7_score.solverstate", "a_iter_7_score0_.solverstate", "a_iter_7_.solverstate",
                            "a_iter_7_score0_0.5x_.solverstate", "a_iter_7_score0_0.5_ema.solverstate"}) {
    EXPECT_EQ(snapshot_iteration(other, "a", ".solverstate"), -1) << other;
  }
}

}  // namespace
}  // namespace robusta::test
