#include "solver/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "solver/toy_solver.h"
#include "support/files.h"

namespace robusta::test {
namespace {

std::vector<double> losses_of(Solver& solver, int iterations) {
  std::vector<double> losses;
  solver.on_iteration = [&](int, double loss, double) { losses.push_back(loss); };
  solver.step(iterations);
  solver.on_iteration = nullptr;
  return losses;
}

TEST(Solver, TheSameSeedGivesTheSameBits) {
  auto a = toy("momentum: 0.9 max_iter: 20"), b = toy("momentum: 0.9 max_iter: 20");
  EXPECT_EQ(losses_of(*a, 20), losses_of(*b, 20));
  EXPECT_EQ(everything(*a), everything(*b));
}

TEST(Solver, AnotherSeedGivesOtherWeights) {
  auto a = toy("max_iter: 20");
  SolverDef def = toy_def("max_iter: 20");
  def.param.set_random_seed(4);
  Solver b(def, {});
  EXPECT_NE(everything(*a), everything(b));
}

TEST(Solver, ASeedIsDrawnWhenNoneIsGiven) {
  SolverDef def = toy_def("max_iter: 1");
  def.param.clear_random_seed();
  Solver a(def, {}), b(def, {});
  EXPECT_NE(a.state().seed, b.state().seed);
}

TEST(Solver, CountsSamplesAndIterations) {
  auto solver = toy("iter_size: 3 max_iter: 20");
  solver->step(5);
  EXPECT_EQ(solver->state().iter, 5);
  EXPECT_EQ(solver->state().samples_seen, 5u * 3 * 4);
  EXPECT_EQ(solver->state().global_batch, 12u);
}

/// The toy with its data in Input layers of `batch` rows, filled with the rows of a batch of 4 again and again.
std::unique_ptr<Solver> toy_with_inputs(const std::string& settings, int64_t batch) {
  SolverDef def = toy_def(settings);
  caffe::LayerParameter& data = *def.param.mutable_net_param()->mutable_layer(0);
  data.set_type("Input");
  for (const int64_t width : {6, 2}) {
    caffe::BlobShape* shape = data.mutable_input_param()->add_shape();
    shape->add_dim(batch);
    shape->add_dim(width);
  }
  data.clear_dummy_data_param();
  auto solver = std::make_unique<Solver>(def, SolverOptions{});
  for (const auto& [blob, width] : {std::pair{"data", 6}, std::pair{"label", 2}}) {
    std::vector<float> rows;
    for (int i = 0; i < batch * width; ++i) rows.push_back(static_cast<float>(std::sin(i % (4 * width))));
    solver->train_net().blobs().write(blob, rows);
  }
  return solver;
}

TEST(Solver, IterSizeIsTheSameAsALargerBatch) {
  // EuclideanLoss divides by the batch, the solver by iter_size; the dropout masks go by sample, not by batch.
  const std::string settings = "max_iter: 10 momentum: 0.9 weight_decay: 0.01 ";
  auto small = toy_with_inputs(settings + "iter_size: 2", 4), large = toy_with_inputs(settings, 8);
  const std::vector<double> a = losses_of(*small, 10), b = losses_of(*large, 10);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * b[i]) << i;
  const std::vector<float> wa = everything(*small), wb = everything(*large);
  for (size_t i = 0; i < wa.size(); ++i) EXPECT_NEAR(wa[i], wb[i], 1e-5);
}

TEST(Solver, UpdatesWhileBackwardRunsEqualUpdatesAfterIt) {
  auto early = toy("momentum: 0.9 max_iter: 10"), late = toy("momentum: 0.9 max_iter: 10 clip_gradients: 1e9");
  EXPECT_EQ(losses_of(*early, 10), losses_of(*late, 10));
  EXPECT_EQ(everything(*early), everything(*late));
}

TEST(Solver, ClippingBoundsTheStep) {
  auto solver = toy("clip_gradients: 0.001 max_iter: 10");
  const std::vector<float> before = everything(*solver);
  solver->step(1);
  double square = 0;
  for (const HistoryId id : solver->updater().history_ids()) {
    const double multiplier = solver->updater().history_param(id).lr_mult;
    for (const float h : solver->updater().history(id)) square += std::pow(h / multiplier, 2);
  }
  EXPECT_NEAR(std::sqrt(square), 0.02 * 0.001, 1e-9);  // base_lr x norm
}

TEST(Solver, AverageLossIsTheMeanOfTheLast) {
  auto solver = toy("average_loss: 3 max_iter: 10");
  const std::vector<double> losses = losses_of(*solver, 5);
  EXPECT_NEAR(solver->state().losses.mean(), (losses[2] + losses[3] + losses[4]) / 3, 1e-7);
}

TEST(Solver, TestsDoNotChangeTheTraining) {
  auto plain = toy("max_iter: 10"), tested = toy("max_iter: 10 test_iter: 2 test_iter: 1 test_interval: 3");
  EXPECT_EQ(tested->test_nets().size(), 2u);
  EXPECT_EQ(losses_of(*plain, 10), losses_of(*tested, 10));
}

TEST(Solver, ATestOfNoBatchesIsEmpty) {
  auto plain = toy("max_iter: 10"), tested = toy("max_iter: 10 test_iter: 0 test_interval: 3");
  EXPECT_EQ(tested->test_nets().size(), 1u);
  EXPECT_EQ(losses_of(*plain, 10), losses_of(*tested, 10));
}

TEST(Solver, TestNetsShareTheTrainNetsParameters) {
  auto solver = toy("max_iter: 10 test_iter: 1 test_interval: 100");
  const auto mine = solver->train_net().layer_params("ip1"), theirs = solver->test_nets()[0]->layer_params("ip1");
  ASSERT_EQ(theirs.size(), 2u);
  EXPECT_EQ(mine[0].get(), theirs[0].get());
}

TEST(Solver, FrozenParametersStayAndHaveHistories) {
  SolverDef def = toy_def("max_iter: 10 momentum: 0.9 weight_decay: 0.1");
  def.param.mutable_net_param()->mutable_layer(1)->mutable_param(0)->set_lr_mult(0);
  Solver solver(def, {});
  const Param& frozen = *solver.train_net().layer_params("ip1")[0];
  const std::vector<float> before = solver.train_net().blobs().read_param(frozen);
  solver.step(5);
  EXPECT_EQ(solver.train_net().blobs().read_param(frozen), before);
  EXPECT_EQ(solver.updater().histories(), 4);
  EXPECT_EQ(solver.updater().history(HistoryId(0)), std::vector<float>(30, 0.0f));
}

TEST(Solver, AnInfiniteLossStopsWithTheLayer) {
  SolverDef def = toy_def("max_iter: 50");
  def.param.set_base_lr(1e20f);
  Solver solver(def, {});
  try {
    solver.step(50);
    FAIL() << "trained with a rate of 1e20";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
    EXPECT_NE(std::string(error.what()).find("at iteration"), std::string::npos) << error.what();
    EXPECT_FALSE(error.layer().empty()) << error.what();
  }
}

TEST(Solver, WritesNoWeightsThatAreNotFinite) {
  const TempDir folder;
  auto solver = toy("max_iter: 10 snapshot_prefix: '" + (folder / "toy") + "'");
  Param& param = *solver->train_net().params()[ParamId(0)];
  std::vector<float> values = solver->train_net().blobs().read_param(param);
  values[3] = NAN;
  solver->train_net().blobs().write_param(param, values);
  EXPECT_THROW(solver->snapshot(), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Solver, StopsOnRequestWithASnapshot) {
  const TempDir folder;
  int polls = 0;
  SolverOptions options;
  options.poll = [&] { return ++polls == 7 ? Request::kStop : Request::kNone; };
  auto solver = toy("max_iter: 100 snapshot_after_train: false snapshot_prefix: '" + (folder / "toy") + "'", options);
  const TrainingResult result = solver->solve();
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(solver->state().iter, 7);
  EXPECT_TRUE(std::filesystem::exists(folder / "toy_iter_7.solverstate"));
}

TEST(Solver, StopsWithinATest) {
  const TempDir folder;
  SolverOptions options;
  options.poll = [] { return Request::kStop; };
  auto solver =
      toy("max_iter: 100 test_iter: 1000 test_interval: 10 snapshot_prefix: '" + (folder / "toy") + "'", options);
  EXPECT_TRUE(solver->solve().stopped_early);
  EXPECT_EQ(solver->state().iter, 0);
}

TEST(Solver, SnapshotsOnRequestAndGoesOn) {
  const TempDir folder;
  int polls = 0;
  SolverOptions options;
  options.poll = [&] { return ++polls == 3 ? Request::kSnapshot : Request::kNone; };
  auto solver = toy("max_iter: 5 snapshot_prefix: '" + (folder / "toy") + "'", options);
  EXPECT_FALSE(solver->solve().stopped_early);
  EXPECT_TRUE(std::filesystem::exists(folder / "toy_iter_3.solverstate"));
  EXPECT_TRUE(std::filesystem::exists(folder / "toy_iter_5.solverstate"));
}

TEST(Solver, StopsByTheClock) {
  const TempDir folder;
  const Walltime walltime(0.2);
  SolverOptions options;
  options.walltime = &walltime;
  auto solver = toy("max_iter: 2000000000 snapshot_prefix: '" + (folder / "toy") + "'", options);
  EXPECT_TRUE(solver->solve().stopped_early);
  EXPECT_GT(solver->state().iter, 0);
}

struct BadSolver {
  const char* settings;
  ErrorKind kind;
  const char* message;
};

class BadSettings : public testing::TestWithParam<BadSolver> {};

TEST_P(BadSettings, AreRefusedBeforeTraining) {
  try {
    toy(GetParam().settings);
    FAIL() << "accepted " << GetParam().settings;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), GetParam().kind);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
    EXPECT_EQ(error.location().find("toy.prototxt"), 0u) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadSettings,
    testing::Values(BadSolver{"iter_size: 0", ErrorKind::kConfig, "iter_size is 0"},
                    BadSolver{"average_loss: 0", ErrorKind::kConfig, "average_loss is 0"},
                    BadSolver{"max_iter: -5", ErrorKind::kConfig, "max_iter is -5"},
                    BadSolver{"type: 'Adm'", ErrorKind::kConfig, "did you mean \"Adam\"?"},
                    BadSolver{"regularization_type: 'L3'", ErrorKind::kConfig, "regularization_type"},
                    BadSolver{"net: 'x.prototxt'", ErrorKind::kConfig, "names 2 train nets"},
                    BadSolver{"test_iter: 5", ErrorKind::kConfig, "test_interval"},
                    BadSolver{"test_iter: -1 test_interval: 5", ErrorKind::kConfig, "test_iter is -1"},
                    BadSolver{"test_iter: 1 test_interval: 5 test_state {} test_state {}", ErrorKind::kConfig,
                              "2 test_state for 1"},
                    BadSolver{"larc: true type: 'Adam'", ErrorKind::kConfig, "larc with solver type Adam"},
                    BadSolver{"test_and_snapshot_last_epochs: -1", ErrorKind::kConfig,
                              "test_and_snapshot_last_epochs is -1"},
                    BadSolver{"ema_decay: 2", ErrorKind::kConfig, "ema_decay 2 is not between 0 and 1"}));

/// Intel's disabled_update: iterations, losses and tests as ever, and no step.
TEST(Solver, DisabledUpdatesLeaveEverything) {
  for (const std::string settings : {"", "clip_gradients: 0.1 ", "iter_size: 2 "}) {
    auto solver = toy("disabled_update: true max_iter: 10 momentum: 0.9 weight_decay: 0.1 " + settings);
    const std::vector<float> before = everything(*solver);
    const std::vector<double> losses = losses_of(*solver, 5);
    EXPECT_EQ(everything(*solver), before);
    EXPECT_NE(losses[0], losses[1]) << "every iteration has its batch";
    EXPECT_EQ(solver->state().iter, 5);
  }
}

TEST(Solver, NeedsANet) {
  try {
    Solver solver(parse_solver("base_lr: 1 lr_policy: 'fixed'", "none.prototxt"), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("names no net"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace robusta::test
