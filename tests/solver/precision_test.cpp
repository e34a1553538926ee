// Training with activations of 16 bits, on the GPU's kernels, emulated: it learns as in f32, and the loss scale finds
// its way.

#include <gtest/gtest.h>

#include <cmath>

#include "comm/thread_ranks.h"
#include "device/sim/sim_device.h"
#include "layers/types/convolution/convolution_types.h"
#include "solver/files/weights.h"
#include "solver/toy_solver.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr size_t kMemory = size_t{64} << 20;

/// Of LeNet, whose batch is written once and learned by heart.
const std::string kLeNet = R"(net_param { name: "LeNet"
  layer { name: "in" type: "Input" top: "data" top: "label"
    input_param { shape { dim: 8 dim: 1 dim: 28 dim: 28 } shape { dim: 8 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
    convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
  layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
    pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
    convolution_param { num_output: 50 kernel_size: 5 weight_filler { type: "xavier" } } }
  layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
    pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
    inner_product_param { num_output: 500 weight_filler { type: "xavier" } } }
  layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
  layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" } })";

std::vector<double> losses_of_lenet(DType precision, int iterations, Device& device) {
  SolverOptions options;
  options.device = &device;
  options.precision = precision;
  Solver solver(
      parse_solver("base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.0005 random_seed: 1\n" + kLeNet,
                   "lenet.prototxt"),
      options);
  fill_inputs(solver.train_net(), 1, 10);
  std::vector<double> losses;
  solver.on_forward = [&](double loss) { losses.push_back(loss); };
  solver.step(iterations);
  EXPECT_EQ(solver.state().loss_scale.active(), precision == DType::kF16);
  EXPECT_EQ(solver.state().loss_scale.skipped, 0);
  return losses;
}

/// Twice, to the same bits.
void expect_to_learn_as_in_f32(DType type, double bound, Device& device) {
  constexpr int kIterations = 12;
  const std::vector<double> exact = losses_of_lenet(DType::kF32, kIterations, device);
  ASSERT_LT(exact.back(), 0.5 * exact.front());
  const std::vector<double> losses = losses_of_lenet(type, kIterations, device);
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], exact[i], bound * exact[0]) << name_of(type) << i;
  EXPECT_NE(losses, exact);
  EXPECT_EQ(losses_of_lenet(type, kIterations, device), losses);
}

TEST(Precision, LeNetLearnsAsInF32) {
  SimDevice device(kMemory, 0, "emulated");
  for (const auto& [type, bound] : {std::pair{DType::kBF16, 0.02}, {DType::kF16, 0.002}}) {
    expect_to_learn_as_in_f32(type, bound, device);
  }
}

TEST(Precision, LeNetLearnsAsInF32OnTheHost) {
  if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  expect_to_learn_as_in_f32(DType::kBF16, 0.02, cpu_device());
}

std::unique_ptr<Solver> half_toy(const std::string& settings, Device& device, double scale = 0,
                                 const std::string& state = "") {
  SolverOptions options;
  options.device = &device;
  options.precision = DType::kF16;
  options.snapshot = state;
  SolverDef def = toy_def(settings);
  if (scale > 0) def.param.mutable_net_param()->set_global_grad_scale(static_cast<float>(scale));
  return std::make_unique<Solver>(std::move(def), std::move(options));
}

/// Parameters and histories of every rule, which are f32, after some iterations of the toy.
std::vector<float> toy_trained(const std::string& settings, DType precision) {
  SimDevice device(kMemory, 0, "emulated");
  SolverOptions options;
  options.device = &device;
  options.precision = precision;
  SolverDef def = toy_def(settings);
  def.param.mutable_net_param()->set_global_grad_scale(64);  // which the toy does not overflow
  const auto solver = std::make_unique<Solver>(std::move(def), options);
  solver->step(6);
  solver->finish_updates();
  EXPECT_EQ(solver->state().loss_scale.active(), precision == DType::kF16);
  EXPECT_EQ(solver->state().loss_scale.skipped, 0);
  return everything(*solver);
}

class RulesIn16Bits : public testing::TestWithParam<const char*> {};

TEST_P(RulesIn16Bits, AreCloseToF32) {
  const std::vector<float> exact = toy_trained(GetParam(), DType::kF32);
  for (const auto& [type, bound] : {std::pair{DType::kBF16, 0.02}, {DType::kF16, 0.003}}) {
    const std::vector<float> rounded = toy_trained(GetParam(), type);
    EXPECT_NE(rounded, exact) << name_of(type);
    expect_close(rounded, exact, bound);
  }
}

// Large deltas, since the sign of a small gradient is not what 16 bits keep.
INSTANTIATE_TEST_SUITE_P(
    Rules, RulesIn16Bits,
    testing::Values("momentum: 0.9 weight_decay: 0.01", "type: 'Nesterov' momentum: 0.9", "type: 'AdaGrad' delta: 0.1",
                    "type: 'RMSProp' rms_decay: 0.95 delta: 0.1", "type: 'AdaDelta' momentum: 0.9 delta: 0.1",
                    "type: 'Adam' momentum: 0.9 delta: 0.1",
                    "type: 'AdamW' momentum: 0.9 delta: 0.1 weight_decay: 0.01",
                    "type: 'LAMB' momentum: 0.9 delta: 0.1 weight_decay: 0.01", "type: 'SAG' momentum: 0.9",
                    "momentum: 0.9 weight_decay: 0.01 regularization_type: 'WD'",
                    "momentum: 0.9 larc: true larc_eta: 0.1", "momentum: 0.9 local_lr_auto: true local_gw_ratio: 0.1"));

TEST(LossScale, HalvesAndDoubles) {
  LossScale scale{LossScale::kStart, 0, 0};
  scale.note(false);
  EXPECT_EQ(scale.value, 32768);
  for (int i = 1; i < LossScale::kPatience; ++i) scale.note(true);
  EXPECT_EQ(scale.value, 32768);
  scale.note(true);
  EXPECT_EQ(scale.value, 65536);
  for (int i = 1; i < LossScale::kPatience; ++i) scale.note(true);
  scale.note(false);  // begins to count anew
  scale.note(true);
  EXPECT_EQ(scale.value, 32768);
  EXPECT_EQ(scale.good_steps, 1);
  EXPECT_EQ(scale.skipped, 2);
  EXPECT_FALSE(LossScale{}.active());
}

TEST(LossScale, StopsAtItsEnds) {
  LossScale high{LossScale::kMost, LossScale::kPatience - 1, 0};
  high.note(true);
  EXPECT_EQ(high.value, LossScale::kMost);
  LossScale low{LossScale::kLeast, 0, 0};
  EXPECT_FALSE(low.exhausted());
  low.note(false);
  EXPECT_TRUE(low.exhausted());
}

TEST(LossScale, OverflowSkipsStepsUntilItFits) {
  SimDevice device(kMemory, 20, "emulated");
  const auto solver = half_toy("momentum: 0.9 weight_decay: 0.01", device, LossScale::kMost);
  const std::vector<float> before = everything(*solver);
  solver->step(1);
  EXPECT_EQ(everything(*solver), before) << "neither weights nor histories move";
  EXPECT_EQ(solver->state().iter, 1);
  EXPECT_EQ(solver->state().samples_seen, 4u);
  EXPECT_EQ(solver->state().loss_scale.skipped, 1);
  EXPECT_EQ(solver->state().loss_scale.value, LossScale::kMost / 2);
  solver->step(19);
  const LossScale& scale = solver->state().loss_scale;
  EXPECT_GT(scale.skipped, 3);
  EXPECT_LT(scale.skipped, 15);
  EXPECT_EQ(scale.value, std::ldexp(LossScale::kMost, -static_cast<int>(scale.skipped)));
  EXPECT_NE(everything(*solver), before);
  for (const float x : everything(*solver)) ASSERT_TRUE(std::isfinite(x));
}

/// The scale takes no part in the results, but for what f16 rounds.
TEST(LossScale, IsUndoneByTheUpdate) {
  for (const char* settings : {"momentum: 0.9 weight_decay: 0.01", "momentum: 0.9 clip_gradients: 0.1",
                               "momentum: 0.9 iter_size: 2", "momentum: 0.9 local_lr_auto: true local_gw_ratio: 0.1",
                               "momentum: 0.9 larc: true larc_eta: 0.1", "type: 'LAMB' momentum: 0.9 delta: 1e-3"}) {
    SimDevice device(kMemory, 0, "emulated");
    const auto small = half_toy(settings, device, 8), large = half_toy(settings, device, 4096);
    small->step(5);
    large->step(5);
    const std::vector<float> a = everything(*small), b = everything(*large);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << settings << i;
    EXPECT_EQ(large->state().loss_scale.skipped, 0);
  }
}

TEST(LossScale, GradientsThatNoScaleHelpsEndTheTraining) {
  SimDevice device(kMemory, 0, "emulated");
  const auto solver = half_toy("", device, LossScale::kLeast);
  // The largest f16; any sum of gradients with it is infinite.
  Net& net = solver->train_net();
  Param& weights = *net.layer_params("ip2")[0];
  net.blobs().write_param(weights, std::vector<float>(static_cast<size_t>(weights.desc.count()), 60000));
  const Error error = error_of([&] { solver->step(60); });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
}

TEST(LossScale, AResumeIsExact) {
  const TempDir folder;
  const std::string settings = "momentum: 0.9 snapshot_prefix: '" + (folder / "s") + "'";
  SimDevice device(kMemory, 0, "emulated");
  const auto whole = half_toy(settings, device, LossScale::kMost);
  whole->step(24);
  std::string state;
  {
    const auto first = half_toy(settings, device, LossScale::kMost);
    first->step(5);  // amid the skipped ones
    state = first->snapshot().state;
  }
  const auto second = half_toy(settings, device, LossScale::kMost, state);
  EXPECT_EQ(second->state().loss_scale.skipped, 5);
  second->step(19);
  EXPECT_EQ(everything(*second), everything(*whole));
  EXPECT_EQ(second->state().loss_scale.value, whole->state().loss_scale.value);
  EXPECT_EQ(second->state().loss_scale.good_steps, whole->state().loss_scale.good_steps);
  EXPECT_EQ(second->state().loss_scale.skipped, whole->state().loss_scale.skipped);
}

/// What is saved are the f32 parameters: the CPU goes on from there.
TEST(LossScale, ASnapshotIsF32) {
  const TempDir folder;
  const std::string settings = "momentum: 0.9 snapshot_prefix: '" + (folder / "s") + "'";
  SimDevice device(kMemory, 0, "emulated");
  const auto half = half_toy(settings, device);
  half->step(3);
  SolverOptions on_cpu;
  on_cpu.snapshot = half->snapshot().state;
  const auto resumed = toy(settings, on_cpu);
  EXPECT_EQ(everything(*resumed), everything(*half));
  EXPECT_FALSE(resumed->state().loss_scale.active());
}

TEST(LossScale, RanksSkipTogether) {
  for (const int ranks : {1, 2}) {
    std::vector<LossScale> scales(static_cast<size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& world) {
      SimDevice device(kMemory, 20, "emulated");
      Ranks group(world, parse_ddl_options("-mode b:" + std::to_string(ranks) + " -bucket_mb 0.0001 -check_iter 1"));
      SolverOptions options;
      options.device = &device;
      options.precision = DType::kF16;
      options.ranks = &group;
      options.batch = 8 / ranks;
      SolverDef def = toy_def("momentum: 0.9");
      def.param.mutable_net_param()->set_global_grad_scale(LossScale::kMost);
      Solver solver(std::move(def), options);
      solver.step(15);
      solver.finish_updates();
      scales[static_cast<size_t>(world.rank())] = solver.state().loss_scale;
    });
    EXPECT_GT(scales[0].skipped, 3);
    for (const LossScale& scale : scales) {
      EXPECT_EQ(scale.skipped, scales[0].skipped);
      EXPECT_EQ(scale.value, scales[0].value);
    }
  }
}

}  // namespace
}  // namespace robusta::test
