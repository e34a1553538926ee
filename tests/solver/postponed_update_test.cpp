// On a GPU the next forward pass begins with the update: the same bits as where each iteration ends with its own,
// whoever looks at weights between.
#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/plain_library.h"

namespace robusta::test::postponed_update_test {
namespace {

ROBUSTA_REGISTER_GPU_KERNEL(FusedConvolution::pattern(), "plain library", 20, make_convolution_plain);

constexpr size_t kMemory = size_t{16} << 20;

struct Trained {
  std::vector<float> values;
  uint64_t launches = 0;  ///< of the kernels that a GPU would have run
};

/// `at_once`: so many iterations without anybody who may look at weights between.
Trained trained(const std::string& settings, int at_once, bool graphs = true) {
  SimDevice device(kMemory, 20, "emulated");
  device.set_graphs(graphs);
  SolverOptions options;
  options.device = &device;
  const auto solver = toy(settings, options);
  for (int i = 0; i < 12; i += at_once) solver->step(at_once);
  solver->finish_updates();
  return {everything(*solver), device.kernels()};
}

TEST(PostponedUpdate, GivesTheSameBits) {
  for (const char* settings :
       {"momentum: 0.9 weight_decay: 0.01", "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
        "type: 'AdaDelta' momentum: 0.9 delta: 1e-3", "type: 'SAG' momentum: 0.9 weight_decay: 0.01",
        "momentum: 0.9 iter_size: 3", "momentum: 0.9 clip_gradients: 0.1",
        "type: 'LAMB' momentum: 0.9 momentum2: 0.99 delta: 1e-3", "momentum: 0.9 ema_decay: 0.9",
        "momentum: 0.9 larc: true larc_eta: 0.1"}) {
    const Trained one_by_one = trained(settings, 1);
    for (const bool graphs : {true, false}) {
      for (const int at_once : {12, 4}) {
        EXPECT_EQ(trained(settings, at_once, graphs).values, one_by_one.values) << settings << at_once << graphs;
      }
    }
  }
}

/// The rate and all else that differs from one iteration to the next.
TEST(PostponedUpdate, FollowsThePolicies) {
  const std::string settings =
      "momentum: 0.9 weight_decay: 0.01 test_iter: 1 test_interval: 5 "
      "snapshot: 4 snapshot_prefix: '";
  const TempDir folder;
  std::vector<float> values[2];
  for (const int at_once : {1, 12}) {
    SimDevice device(kMemory, 0, "emulated");
    SolverOptions options;
    options.device = &device;
    SolverDef def = toy_def(settings + (folder / std::to_string(at_once)) + "'");
    def.param.set_lr_policy("exp");
    def.param.set_gamma(0.8f);
    Solver solver(std::move(def), std::move(options));
    for (int i = 0; i < 12; i += at_once) solver.step(at_once);
    solver.finish_updates();
    values[at_once > 1] = everything(solver);
  }
  EXPECT_EQ(values[0], values[1]);
  for (const char* file : {"_iter_4", "_iter_8", "_iter_12"}) {
    for (const char* kind : {".caffemodel", ".solverstate"}) {
      const std::string one = read_file(folder / (std::string("1") + file + kind));
      EXPECT_FALSE(one.empty());
      if (std::string(kind) == ".caffemodel") {
        EXPECT_EQ(one, read_file(folder / (std::string("12") + file + kind))) << file;
      }
    }
  }
}

/// Nothing of an update is lost where the pass that would begin with it does not come.
TEST(PostponedUpdate, IsMadeWhenTheTrainingStops) {
  SimDevice device(kMemory, 0, "emulated"), other(kMemory, 0, "emulated");
  SolverOptions options;
  options.device = &device;
  int polled = 0;
  options.poll = [&polled] { return ++polled > 5 ? Request::kStop : Request::kNone; };
  const auto stopped = toy("momentum: 0.9 max_iter: 100", options);
  stopped->step(100);
  const int iterations = static_cast<int>(stopped->state().iter);
  ASSERT_LT(iterations, 100);
  ASSERT_GT(iterations, 3);
  SolverOptions same;
  same.device = &other;
  const auto whole = toy("momentum: 0.9 max_iter: 100", same);
  for (int i = 0; i < iterations; ++i) whole->step(1);
  EXPECT_EQ(everything(*stopped), everything(*whole));
}

/// Whoever goes on without the pass that would begin with it: the update is made once, and before the next one.
TEST(PostponedUpdate, IsMadeOnce) {
  std::vector<float> values[3];
  for (const int way : {0, 1, 2}) {  // at once; postponed and asked for; postponed until the next one begins
    SimDevice device(kMemory, 0, "emulated");
    SolverOptions options;
    options.device = &device;
    const auto solver = toy("momentum: 0.9", options);
    solver->step(1);
    Updater& updater = solver->updater();
    const std::vector<float> before = everything(*solver);
    for (int i = 0; i < 3; ++i) {
      updater.begin({.number = i, .rate = 0.1 / (i + 1), .momentum = 0.9});
      if (way == 0) updater.finish();
      if (way > 0) {
        EXPECT_TRUE(updater.postpone());
      }
      if (way > 0 && i == 0) {
        EXPECT_EQ(everything(*solver), before);
      }
      for (int again = 0; way == 1 && again < 2; ++again) updater.finish_postponed();
    }
    updater.finish();
    values[way] = everything(*solver);
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(values[0], values[2]);
}

/// Where the device has no memory left for a table.
TEST(PostponedUpdate, IsMadeAtOnceWhereThereIsNoRoom) {
  std::vector<float> values[2];
  for (const bool full : {false, true}) {
    SimDevice device(kMemory, 0, "emulated");
    SolverOptions options;
    options.device = &device;
    const auto solver = toy("momentum: 0.9 max_iter: 100", options);
    solver->step(1);
    const DeviceBuffer rest(device, full ? device.free_memory() : 0);
    solver->step(5);
    values[full] = everything(*solver);
  }
  EXPECT_EQ(values[0], values[1]);
}

/// A branch that nothing runs backward through has copies of the filters that it shares, made when these have changed:
/// by the update that the pass begins with, too.
TEST(PostponedUpdate, IsSeenByCopiesOfWeights) {
  const char* const net = R"(net_param { name: "n"
    layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
            shape { dim: 2 dim: 4 dim: 6 dim: 6 } shape { dim: 2 dim: 3 dim: 6 dim: 6 }
            data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: 0.5 } } }
    layer { name: "a" type: "Convolution" bottom: "data" top: "a" param { name: "w" } param { name: "b" }
            convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "side" type: "Convolution" bottom: "data" top: "side" param { name: "w" } param { name: "b" }
            convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "a" bottom: "label" top: "loss" } })";
  const auto side = [&](int at_once, bool graphs) {
    const WithPlainLibrary library(true);
    SimDevice device(size_t{64} << 20, 0, "emulated");
    device.set_graphs(graphs);
    SolverOptions options;
    options.device = &device;
    Solver solver(parse_solver(std::string("base_lr: 1e-4 lr_policy: 'fixed' random_seed: 3\n") + net, "solver"),
                  std::move(options));
    for (int i = 0; i < 6; i += at_once) solver.step(at_once);
    EXPECT_GT(plain_library.prepared, 5);
    return solver.train_net().blobs().read("side");
  };
  for (const bool graphs : {false, true}) EXPECT_EQ(side(6, graphs), side(1, graphs)) << graphs;
}

/// One launch however many parameters there are.
TEST(PostponedUpdate, IsOneLaunchOfThePass) {
  SimDevice device(kMemory, 0, "emulated");
  SolverOptions options;
  options.device = &device;
  const auto solver = toy("momentum: 0.9 max_iter: 100", options);
  solver->step(4);
  const auto launched = [&](int iterations) {
    solver->train_net().stream().synchronize();
    const uint64_t before = device.kernels();
    solver->step(iterations);
    solver->train_net().stream().synchronize();
    return device.kernels() - before;
  };
  const uint64_t one = launched(1), six = launched(6), seven = launched(7);
  EXPECT_EQ(seven - six, one - 1) << "alone an iteration begins with an idle one, too";
}

}  // namespace
}  // namespace robusta::test::postponed_update_test
