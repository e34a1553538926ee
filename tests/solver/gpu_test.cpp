// Training with parameters in the memory of a device: the sim device, with the CPU's kernels (then bits are equal) and
// with the GPU's, emulated.
#include <gtest/gtest.h>

#include "comm/thread_ranks.h"
#include "device/sim/sim_device.h"
#include "solver/toy_solver.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

constexpr size_t kMemory = size_t{16} << 20;
constexpr int kDelay = 20;  // microseconds before each piece of work, to bring out missing waits

std::vector<float> trained(const std::string& settings, Device& device, int iterations = 6) {
  SolverOptions options;
  options.device = &device;
  const auto solver = toy(settings, options);
  solver->step(iterations);
  solver->finish_updates();
  return everything(*solver);
}

class Rules : public testing::TestWithParam<const char*> {};

TEST_P(Rules, OnADeviceWithTheCpusKernelsGiveTheSameBits) {
  SimDevice device(kMemory, kDelay);
  EXPECT_EQ(trained(GetParam(), device), trained(GetParam(), cpu_device()));
}

TEST_P(Rules, OnAnEmulatedGpuAreClose) {
  SimDevice device(kMemory, kDelay, "emulated");
  expect_close(trained(GetParam(), device), trained(GetParam(), cpu_device()), 1e-5);
}

TEST_P(Rules, AsGraphsGiveTheSameBits) {
  SimDevice recording(kMemory, 0, "emulated"), eager(kMemory, 0, "emulated");
  eager.set_graphs(false);
  EXPECT_EQ(trained(GetParam(), recording), trained(GetParam(), eager));
}

INSTANTIATE_TEST_SUITE_P(Gpu, Rules,
                         testing::Values("momentum: 0.9 weight_decay: 0.01",
                                         "type: 'Nesterov' momentum: 0.9 weight_decay: 0.01 regularization_type: 'L1'",
                                         "type: 'AdaGrad' delta: 1e-3", "type: 'RMSProp' rms_decay: 0.95 delta: 1e-3",
                                         "type: 'AdaDelta' momentum: 0.9 delta: 1e-3",
                                         "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
                                         "type: 'AdamW' momentum: 0.9 momentum2: 0.99 delta: 1e-3 weight_decay: 0.01",
                                         "momentum: 0.9 clip_gradients: 0.1", "momentum: 0.9 iter_size: 3",
                                         "momentum: 0.9 weight_decay: 0.01 local_lr_auto: true local_gw_ratio: 0.1",
                                         "type: 'LAMB' momentum: 0.9 momentum2: 0.99 delta: 1e-3 weight_decay: 0.01",
                                         "type: 'SAG' momentum: 0.9 weight_decay: 0.01",
                                         "momentum: 0.9 weight_decay: 0.1 regularization_type: 'WD'",
                                         "type: 'Adam' momentum: 0.9 delta: 1e-3 weight_decay: 0.1 "
                                         "regularization_type: 'WD'",
                                         "type: 'SAG' momentum: 0.9 larc: true larc_eta: 0.1",
                                         "momentum: 0.9 weight_decay: 0.01 larc: true larc_eta: 0.1",
                                         "momentum: 0.9 larc: true larc_policy: 'clip' clip_gradients: 0.1"));

// Updates are enqueued in the train net's stream.
TEST(Gpu, ATestNetWaitsForTheUpdatesOfItsParameters) {
  SimDevice device(kMemory);
  SolverOptions options;
  options.device = &device;
  const auto solver = toy("test_iter: 1 test_interval: 1", options);
  EXPECT_EQ(&solver->test_nets().at(0)->stream(), &solver->train_net().stream());
}

TEST(Gpu, ASnapshotGoesOnOnTheCpu) {
  const TempDir folder;
  const std::string settings = "momentum: 0.9 snapshot_prefix: '" + (folder / "s") + "'";
  SimDevice device(kMemory, kDelay, "emulated");
  SolverOptions on_device;
  on_device.device = &device;
  SolverOptions resumed;
  {
    const auto first = toy(settings, on_device);
    first->step(3);
    first->finish_updates();
    resumed.snapshot = first->snapshot().state;
  }
  const auto second = toy(settings, resumed);
  second->step(3);
  second->finish_updates();
  expect_close(everything(*second), trained(settings, cpu_device()), 1e-5);
}

TEST(Gpu, ASteadyIterationWaitsForItsLossAlone) {
  SimDevice device(kMemory, kDelay, "emulated");
  SolverOptions options;
  options.device = &device;
  const auto solver = toy("momentum: 0.9 max_iter: 100", options);
  solver->step(4);
  const uint64_t waits = device.host_waits(), synchronizations = device.synchronizations();
  const uint64_t launches = device.launches();
  const size_t memory = device.bytes_in_use();
  solver->step(5);
  EXPECT_EQ(device.synchronizations(), synchronizations);
  EXPECT_LE(device.host_waits() - waits, 5u);
  EXPECT_EQ(device.bytes_in_use(), memory);
  // The position, the batch to the device, two tops into their places, forward, the loss, backward; from the second one
  // on a word that parameters have moved, as forward begins with the update, of which the first one has none; in the
  // end the last update. Its table is told to rest, and to go on.
  EXPECT_EQ(device.launches() - launches, 5u * 7 + 4 + 1 + 2);
  EXPECT_EQ(solver->train_net().diagnostics().graphs().recordings, 2);
}

/// The norms that rates follow (LARC, LARS) are read at once, and those that steps are scaled to (LAMB) not at all.
TEST(Gpu, LayerWiseRatesWaitOnceAnIteration) {
  for (const auto& [settings, waits] :
       {std::pair{"larc: true", 1u}, {"local_lr_auto: true", 1u}, {"type: 'LAMB' delta: 1e-3", 0u}}) {
    SimDevice device(kMemory, 0, "emulated");
    SolverOptions options;
    options.device = &device;
    const auto solver = toy(std::string("momentum: 0.9 max_iter: 100 ") + settings, options);
    solver->step(4);
    const uint64_t before = device.synchronizations();
    solver->step(5);
    EXPECT_EQ(device.synchronizations() - before, 5u * waits) << settings;
  }
}

TEST(Gpu, AnInfiniteLossStopsBeforeTheUpdate) {
  SimDevice device(kMemory, 0, "emulated");
  SolverOptions options;
  options.device = &device;
  const auto solver = toy("max_iter: 100", options);
  solver->step(4);
  solver->finish_updates();
  Net& net = solver->train_net();
  Param& weights = *net.params()[ParamId(2)];
  std::vector<float> broken = net.blobs().read_param(weights);
  broken[0] = 1e30f;
  net.blobs().write_param(weights, broken);
  const Error error = error_of([&] { solver->step(1); });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
  EXPECT_EQ(error.layer(), "loss");
  EXPECT_EQ(net.blobs().read_param(weights), broken);
}

struct Trained {
  std::vector<float> values;
  int recordings = 0;
  uint64_t bytes_to_host = 0;
};

/// `kernels`: of the device that each rank has; "": the host.
Trained trained_by_ranks(int ranks, const std::string& kernels, bool graphs = true, const std::string& mode = "b",
                         const std::string& settings = "momentum: 0.9 weight_decay: 0.01") {
  Trained result;
  run_thread_ranks(ranks, [&](Communicator& world) {
    SimDevice device(kMemory, kDelay, kernels);
    device.set_graphs(graphs);
    Ranks group(world,
                parse_ddl_options("-mode " + mode + ":" + std::to_string(ranks) + " -bucket_mb 0.0001 -check_iter 2"));
    SolverOptions options;
    if (!kernels.empty()) options.device = &device;
    options.ranks = &group;
    options.batch = 8 / ranks;
    const auto solver = toy(settings, options);
    solver->step(6);
    solver->finish_updates();
    if (world.rank() > 0) return;
    result.bytes_to_host = device.bytes_to_host();
    result.values = everything(*solver);
    result.recordings = solver->train_net().diagnostics().graphs().recordings;
  });
  return result;
}

TEST(Gpu, RanksStageTheirGradientsThroughTheHost) {
  for (const int ranks : {2, 4}) {
    const std::vector<float> on_host = trained_by_ranks(ranks, "").values;
    EXPECT_EQ(trained_by_ranks(ranks, "cpu").values, on_host) << ranks << " ranks";
    expect_close(trained_by_ranks(ranks, "emulated").values, on_host, 1e-5);
  }
}

/// Norms of gradients that other ranks' sums have just replaced.
TEST(Gpu, RanksWithLayerWiseRatesAreCloseToThoseOnTheHost) {
  for (const std::string settings :
       {"momentum: 0.9 larc: true larc_eta: 0.1", "type: 'LAMB' momentum: 0.9 delta: 1e-3"}) {
    const std::vector<float> on_host = trained_by_ranks(2, "", true, "b", settings).values;
    EXPECT_EQ(trained_by_ranks(2, "cpu", true, "b", settings).values, on_host) << settings;
    expect_close(trained_by_ranks(2, "emulated", true, "b", settings).values, on_host, 1e-5);
  }
}

// What a CUDA-aware MPI does; every communicator takes the sim device's memory, which is the host's.
TEST(Gpu, TheLibrarysOwnSumTakesGradientsWhereTheyLie) {
  const Trained direct = trained_by_ranks(2, "emulated", true, "m"), staged = trained_by_ranks(2, "emulated");
  EXPECT_EQ(direct.values, staged.values);
  EXPECT_LT(direct.bytes_to_host, staged.bytes_to_host / 2);
  EXPECT_EQ(trained_by_ranks(2, "cpu", true, "m").values, trained_by_ranks(2, "").values);
}

TEST(Gpu, GraphsEndWhereABucketDoes) {
  const Trained graphs = trained_by_ranks(2, "emulated"), eager = trained_by_ranks(2, "emulated", false);
  EXPECT_EQ(graphs.values, eager.values);
  EXPECT_EQ(graphs.recordings, 1 + 2);  // forward, and backward of a layer for each bucket
  EXPECT_EQ(eager.recordings, 0);
}

}  // namespace
}  // namespace robusta::test
