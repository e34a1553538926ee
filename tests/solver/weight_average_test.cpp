// The moving average of the weights (ema_decay): its numbers, tests with it, its file, an exact resume.
#include "solver/update/weight_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "comm/thread_ranks.h"
#include "device/sim/sim_device.h"
#include "net/run/arrays.h"
#include "solver/files/weights.h"
#include "solver/toy_solver.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDeviceMemory = size_t{16} << 20;
const std::string kAveraging = "momentum: 0.9 weight_decay: 0.01 max_iter: 100 ema_decay: 0.75 ";

std::vector<float> averages(Solver& solver) {
  std::vector<float> all;
  for (const Tensor& array : solver.updater().average()->tensors()) {
    const std::vector<float> values = read_array(solver.train_net().stream(), array);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<float> weights(Solver& solver) {
  std::vector<float> all;
  for (const ParamPtr& param : solver.train_net().params()) {
    if (param->lr_mult == 0) continue;
    const std::vector<float> values = solver.train_net().blobs().read_param(*param);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// a <- 0.75 a + 0.25 w after every update, from the weights before the first one.
TEST(WeightAverage, FollowsByHand) {
  SolverOptions options;
  options.dtype = DType::kF64;
  const auto solver = toy(kAveraging, options);
  const std::vector<float> start = weights(*solver);
  std::vector<double> want(start.begin(), start.end());
  for (int iteration = 0; iteration < 4; ++iteration) {
    solver->step(1);
    const std::vector<float> now = weights(*solver), average = averages(*solver);
    ASSERT_EQ(average.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] = 0.75 * want[i] + 0.25 * now[i];
      EXPECT_NEAR(average[i], want[i], 1e-6) << "iteration " << iteration;
    }
  }
}

TEST(WeightAverage, ChangesNothingOfTheTraining) {
  const auto with = toy(kAveraging + "test_iter: 2 test_interval: 3"),
             without = toy("momentum: 0.9 weight_decay: 0.01");
  with->step(8);
  without->step(8);
  EXPECT_EQ(everything(*with), everything(*without));
}

TEST(WeightAverage, ExchangedTwiceEverythingIsAsItWas) {
  const auto solver = toy(kAveraging);
  solver->step(3);
  const std::vector<float> before = weights(*solver), average = averages(*solver);
  EXPECT_NE(before, average);
  {
    const AveragedWeights averaged(*solver->updater().average());
    EXPECT_EQ(weights(*solver), average);
  }
  EXPECT_EQ(weights(*solver), before);
  EXPECT_EQ(averages(*solver), average);
}

/// The means of a test with averaged weights are those of a net that has them.
TEST(WeightAverage, IsTestedBesideTheWeights) {
  const auto solver = toy(kAveraging + "test_iter: 2 test_interval: 100 test_initialization: false");
  std::vector<double> plain, averaged;
  const auto into = [](std::vector<double>& values) {
    return [&values](int, const std::vector<OutputBlob>& means) { values = means.at(0).values; };
  };
  solver->on_test = into(plain);
  solver->on_averaged_test = into(averaged);
  solver->test_all();
  EXPECT_FALSE(plain.empty());
  EXPECT_TRUE(averaged.empty()) << "there is no average before the first iteration";
  solver->step(4);
  solver->test_all();
  const std::vector<double> of_weights = plain, of_average = averaged;
  EXPECT_NE(of_weights, of_average);
  const AveragedWeights exchanged(*solver->updater().average());
  solver->on_averaged_test = nullptr;
  solver->test_all();
  EXPECT_EQ(plain, of_average);
}

TEST(WeightAverage, OnAnEmulatedGpuIsClose) {
  SimDevice device(kDeviceMemory, 20, "emulated"), with_cpu_kernels(kDeviceMemory, 20);
  SolverOptions on_gpu, on_sim;
  on_gpu.device = &device;
  on_sim.device = &with_cpu_kernels;
  const auto host = toy(kAveraging), gpu = toy(kAveraging, on_gpu), sim = toy(kAveraging, on_sim);
  for (Solver* solver : {host.get(), gpu.get(), sim.get()}) {
    solver->step(5);
    solver->finish_updates();
  }
  EXPECT_EQ(averages(*sim), averages(*host));
  expect_close(averages(*gpu), averages(*host), 1e-5);
  const std::vector<float> average = averages(*gpu);
  const AveragedWeights exchanged(*gpu->updater().average());
  EXPECT_EQ(weights(*gpu), average);
}

/// A step that an overflow skips is none for the average either.
TEST(WeightAverage, SkippedStepsDoNotCount) {
  SimDevice device(kDeviceMemory, 0, "emulated");
  SolverOptions options;
  options.device = &device;
  options.precision = DType::kF16;
  SolverDef def = toy_def(kAveraging);
  def.param.mutable_net_param()->set_global_grad_scale(LossScale::kMost);
  Solver solver(std::move(def), options);
  solver.step(1);
  solver.finish_updates();
  ASSERT_EQ(solver.state().loss_scale.skipped, 1);
  EXPECT_EQ(averages(solver), weights(solver));
}

SolverOptions resumed_from(const std::string& state) {
  SolverOptions options;
  options.snapshot = state;
  return options;
}

std::string toy_prefix(const TempDir& folder) { return "snapshot_prefix: '" + (folder / "toy") + "' "; }

TEST(WeightAverage, LiesBesideTheModelAndResumesBitByBit) {
  const TempDir folder;
  const std::string settings = kAveraging + toy_prefix(folder);
  const auto whole = toy(settings);
  whole->step(20);
  const auto first = toy(settings);
  first->step(10);
  const SnapshotPaths paths = first->snapshot();
  EXPECT_EQ(paths.averaged, folder / "toy_iter_10_ema.caffemodel");
  EXPECT_EQ(newest_snapshot(folder / "toy"), paths.state);

  const auto tester = toy(toy_prefix(folder));
  copy_weights(read_weights(paths.averaged), paths.averaged, tester->train_net());
  EXPECT_EQ(weights(*tester), averages(*first)) << "it is a model as any other";
  copy_weights(read_weights(paths.model), paths.model, tester->train_net());
  EXPECT_EQ(weights(*tester), weights(*first));

  const auto second = toy(settings, resumed_from(paths.state));
  EXPECT_EQ(averages(*second), averages(*first));
  second->step(10);
  EXPECT_EQ(everything(*second), everything(*whole));
  EXPECT_EQ(averages(*second), averages(*whole));
}

TEST(WeightAverage, MayBeginOrEndAtAResume) {
  const TempDir folder;
  const auto plain = toy("momentum: 0.9 " + toy_prefix(folder));
  plain->step(3);
  const std::string state = plain->snapshot().state;
  const auto begins = toy(kAveraging + toy_prefix(folder), resumed_from(state));
  const std::vector<float> start = weights(*begins);
  begins->step(1);
  const std::vector<float> now = weights(*begins), average = averages(*begins);
  for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(average[i], 0.75f * start[i] + 0.25f * now[i], 1e-6);
  const auto ends = toy("momentum: 0.9 " + toy_prefix(folder), resumed_from(begins->snapshot().state));
  EXPECT_EQ(weights(*ends), now);
  EXPECT_EQ(ends->updater().average(), nullptr);
}

TEST(WeightAverage, AnotherOrAMissingOneIsRefused) {
  const TempDir folder;
  const std::string settings = kAveraging + toy_prefix(folder);
  const auto solver = toy(settings);
  solver->step(2);
  const SnapshotPaths paths = solver->snapshot();
  const std::string own = read_file(paths.averaged);
  write_file(paths.averaged, read_file(paths.model));
  Error error = error_of([&] { toy(settings, resumed_from(paths.state)); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(error.what(), paths.averaged)) << error.what();
  fs::remove(paths.averaged);
  error = error_of([&] { toy(settings, resumed_from(paths.state)); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_EQ(newest_snapshot(folder / "toy"), "");
  write_file(paths.averaged, own);
  EXPECT_EQ(newest_snapshot(folder / "toy"), paths.state);
}

TEST(WeightAverage, ASnapshotAskedForAmidItsTestIsOfTheWeights) {
  const TempDir folder;
  int polls = 0;
  SolverOptions options;
  // One before each batch: of the first test's two, then of the average's.
  options.poll = [&] { return ++polls == 6 ? Request::kSnapshot : Request::kNone; };
  const auto solver = toy(kAveraging + toy_prefix(folder) + "test_iter: 2 test_interval: 100", options);
  solver->step(1);  // a test before it, without an average, and a vote
  ASSERT_EQ(polls, 3);
  solver->test_all();
  EXPECT_EQ(polls, 7);
  const std::string model = folder / "toy_iter_1.caffemodel";
  ASSERT_TRUE(fs::exists(model));
  const auto reader = toy("");
  copy_weights(read_weights(model), model, reader->train_net());
  EXPECT_EQ(weights(*reader), weights(*solver));
}

TEST(WeightAverage, IsTheSameOnAllRanksAndAfterAResume) {
  const TempDir folder;
  const std::string settings = kAveraging + toy_prefix(folder);
  const auto by_ranks = [&](int ranks, int iterations, const std::string& state, bool writes) {
    std::vector<std::vector<float>> found(static_cast<size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& world) {
      Ranks group(world, parse_ddl_options("-mode b:" + std::to_string(ranks) + " -bucket_mb 0.0001"));
      SolverOptions options = resumed_from(state);
      options.ranks = &group;
      options.batch = 8 / ranks;
      const auto solver = toy(settings, options);
      solver->step(iterations);
      if (writes) solver->snapshot();
      solver->finish_updates();
      found[static_cast<size_t>(world.rank())] = averages(*solver);
    });
    for (const auto& average : found) EXPECT_EQ(average, found[0]);
    return found[0];
  };
  const std::vector<float> whole = by_ranks(2, 8, "", false);
  by_ranks(2, 4, "", true);
  EXPECT_EQ(by_ranks(2, 4, folder / "toy_iter_4.solverstate", false), whole);
}

TEST(WeightAverage, RefusesADecayThatIsNone) {
  for (const std::string decay : {"1", "-0.5", "1.5"}) {
    const Error error = error_of([&] { toy("ema_decay: " + decay); });
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    EXPECT_TRUE(contains(error.what(), "ema_decay " + decay + " is not between 0 and 1")) << error.what();
    EXPECT_EQ(error.location(), "toy.prototxt:2");
  }
}

}  // namespace
}  // namespace robusta::test
