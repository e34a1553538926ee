// Stages on several fake GPUs: weights, histories, tests and files of one device that takes the micro-batches in turn.
#include "solver/pipeline/devices/device_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

#include "device/gpus.h"
#include "device/sim/sim_device.h"
#include "schema/read_text.h"
#include "solver/solver.h"
#include "solver/staged_net.h"
#include "solver/toy_solver.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::pipeline_test {
namespace {

constexpr size_t kMemory = size_t{16} << 20;
constexpr int kDelay = 20;  // microseconds before each piece of work, to bring out missing waits

using namespace staged_net;  // NOLINT: its pieces of prototxt

struct Staged {
  std::string settings = "momentum: 0.9 weight_decay: 0.01";
  int stages = 1;
  int micro_batches = 4;
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  std::string kernels = "cpu";
  std::string snapshot = "";
  std::string layers = "";  ///< instead of net(stages)
  int64_t batch = 0;        ///< instead of the net's
  std::optional<DType> precision = {};
  size_t budget = 0;  ///< bytes that the nets of a stage may take; 0: no limit is known
};

std::unique_ptr<Solver> solver_on(const std::vector<Device*>& devices, const Staged& run) {
  SolverOptions options;
  for (Device* const device : devices) {
    if (run.stages == 1) continue;
    StageDevice& stage = options.pipeline.stages.emplace_back(StageDevice{device});
    if (run.budget == 0) continue;
    stage.memory.budget = std::make_shared<MemoryBudget>();
    stage.memory.budget->limit = run.budget;
  }
  if (run.stages == 1) options.device = devices[0];
  options.pipeline.order = run.order;
  options.micro_batches = run.micro_batches;
  options.batch = run.batch;
  options.precision = run.precision;
  options.snapshot = run.snapshot;
  const bool has_policy = run.settings.find("lr_policy") != std::string::npos;
  const std::string settings =
      "base_lr: 0.02 random_seed: 3 " + run.settings + (has_policy ? "\n" : " lr_policy: 'fixed'\n");
  return std::make_unique<Solver>(
      parse_solver(settings + (run.layers.empty() ? net(run.stages) : run.layers), "staged.prototxt"), options);
}

/// A solver with its devices.
struct Training {
  std::vector<std::unique_ptr<SimDevice>> devices;
  std::unique_ptr<Solver> solver;

  explicit Training(const Staged& run) {
    std::vector<Device*> all;
    for (int i = 0; i < run.stages; ++i) {
      all.push_back(devices.emplace_back(std::make_unique<SimDevice>(kMemory, kDelay, run.kernels)).get());
    }
    solver = solver_on(all, run);
  }
  std::vector<float> weights_after(int iterations) {
    solver->step(iterations);
    solver->finish_updates();
    return everything(*solver);
  }
};

std::vector<float> trained(const Staged& run, int iterations = 4) { return Training(run).weights_after(iterations); }

void expect_those_of_one_device(Staged run, double tolerance = 0) {
  const std::vector<float> staged = trained(run);
  run.stages = 1;
  run.layers = "";
  const std::vector<float> one = trained(run);
  if (tolerance > 0) return expect_close(staged, one, tolerance);
  EXPECT_EQ(staged, one);
}

class Stages : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pipeline, Stages, testing::Values(2, 4));

TEST_P(Stages, HaveTheBitsOfOneDeviceInBothOrders) {
  for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward}) {
    for (const int micro_batches : {1, 2, 8}) {
      SCOPED_TRACE(name_of(order) + " " + std::to_string(micro_batches));
      expect_those_of_one_device({.stages = GetParam(), .micro_batches = micro_batches, .order = order});
    }
  }
}

TEST_P(Stages, HaveTheBitsOfOneDeviceWithEveryRule) {
  for (const std::string settings :
       {"type: 'Nesterov' momentum: 0.9", "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
        "type: 'AdaDelta' momentum: 0.9 delta: 1e-3", "type: 'LAMB' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
        "momentum: 0.9 clip_gradients: 0.1", "momentum: 0.9 larc: true larc_eta: 0.1",
        "momentum: 0.9 iter_size: 2 lr_policy: 'step' gamma: 0.5 stepsize: 2"}) {
    SCOPED_TRACE(settings);
    expect_those_of_one_device({.settings = settings, .stages = GetParam()});
  }
}

TEST_P(Stages, AreCloseToOneDeviceOnEmulatedGpus) {
  expect_those_of_one_device({.stages = GetParam(), .kernels = "emulated"}, 1e-5);
}

TEST_P(Stages, AreCloseToOneDeviceIn16Bits) {
  for (const DType precision : {DType::kBF16, DType::kF16}) {
    for (const std::string settings : {"momentum: 0.9", "momentum: 0.9 clip_gradients: 0.1"})
      expect_those_of_one_device(
          {.settings = settings, .stages = GetParam(), .kernels = "emulated", .precision = precision}, 2e-3);
  }
}

/// Where a gradient of some stage is not finite no stage moves, and all halve the scale.
TEST_P(Stages, SkipIterationsTogether) {
  std::string layers = net(GetParam());
  layers.insert(layers.find("name:"), "global_grad_scale: 16777216 ");
  const auto run = [&](int stages, int iterations) {
    Training training({.stages = stages, .kernels = "emulated", .layers = layers, .precision = DType::kF16});
    std::vector<float> weights = training.weights_after(iterations);
    const LossScale& scale = training.solver->state().loss_scale;
    return std::tuple(std::move(weights), scale.skipped, scale.value);
  };
  const auto [begun, none, first_scale] = run(1, 0);
  for (const int iterations : {1, 30}) {
    const auto [one, skipped, scale] = run(1, iterations);
    const auto [staged, staged_skipped, staged_scale] = run(GetParam(), iterations);
    EXPECT_GE(skipped, 1);
    EXPECT_EQ(staged_skipped, skipped);
    EXPECT_EQ(staged_scale, scale);
    expect_close(staged, one, 1e-2);
    const size_t last = begun.size() - 1;  // the history of a bias
    EXPECT_EQ(staged[last] == begun[last], iterations == 1);
  }
}

TEST_P(Stages, ShowTheLossesAndOutputsOfOneDevice) {
  std::vector<std::vector<double>> shown;
  for (const int stages : {1, GetParam()}) {
    Training training({.stages = stages});
    std::vector<double>& losses = shown.emplace_back();
    training.solver->on_forward = [&](double loss) { losses.push_back(loss); };
    training.solver->step(3);
    EXPECT_EQ(losses.size(), 12u);
    if (DevicePipeline* pipeline = training.solver->pipeline()) {
      for (const OutputBlob& blob : pipeline->outputs()) losses.push_back(blob.values.at(0));
    } else {
      for (const OutputBlob& blob : read_outputs(training.solver->train_net())) losses.push_back(blob.values.at(0));
    }
  }
  EXPECT_EQ(shown[0].size(), 14u);
  EXPECT_EQ(shown[0], shown[1]);
}

TEST_P(Stages, TestAsOneDevice) {
  std::vector<std::vector<double>> means;
  for (const int stages : {1, GetParam()}) {
    Training training({.settings = "momentum: 0.9 test_iter: 3 test_interval: 2", .stages = stages});
    std::vector<double>& all = means.emplace_back();
    training.solver->on_test = [&](int, const std::vector<OutputBlob>& blobs) {
      for (const OutputBlob& blob : blobs) all.insert(all.end(), blob.values.begin(), blob.values.end());
    };
    training.solver->step(5);
  }
  EXPECT_EQ(means[0].size(), 6u);
  EXPECT_EQ(means[0], means[1]);
}

/// Four iterations, of which each half runs on another number of devices, with another number of micro-batches in
/// flight.
TEST_P(Stages, GoOnFromSnapshotsOfOtherDevicesAndTheOtherWayRound) {
  const std::string adam = "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3 ";
  const std::vector<float> whole = trained({.settings = adam});
  for (const auto& [first, second] : {std::pair{1, GetParam()}, {GetParam(), 1}, {GetParam(), 6 - GetParam()}}) {
    const TempDir folder;
    const std::string settings = adam + "snapshot_prefix: '" + (folder / "s") + "'";
    Staged rest{.settings = settings, .stages = second};
    {
      Training begun({.settings = settings, .stages = first});
      begun.solver->step(2);
      rest.snapshot = begun.solver->snapshot().state;
    }
    EXPECT_EQ(trained(rest, 2), whole) << first << " to " << second;
  }
}

TEST_P(Stages, WriteTheFilesOfOneDevice) {
  std::vector<std::string> models;
  for (const int stages : {1, GetParam()}) {
    const TempDir folder;
    Training training({.settings = "momentum: 0.9 snapshot_diff: true snapshot_prefix: '" + (folder / "s") + "'",
                       .stages = stages,
                       .layers = net(GetParam())});
    training.solver->step(3);
    models.push_back(read_file(training.solver->snapshot().model));
  }
  EXPECT_TRUE(models[0] == models[1]);
}

/// Tests with averages, their files, and going on with them.
TEST_P(Stages, AverageTheirWeightsAsOneDevice) {
  std::vector<std::vector<double>> means;
  std::vector<std::string> models;
  for (const auto& [first, second] : {std::pair{1, 1}, {GetParam(), GetParam()}, {GetParam(), 1}, {1, GetParam()}}) {
    const TempDir folder;
    const std::string settings =
        "momentum: 0.9 ema_decay: 0.8 test_iter: 1 test_interval: 2 snapshot_prefix: '" + (folder / "s") + "'";
    Staged rest{.settings = settings, .stages = second, .layers = net(GetParam())};
    {
      Training begun({.settings = settings, .stages = first, .layers = net(GetParam())});
      begun.solver->step(2);
      rest.snapshot = begun.solver->snapshot().state;
    }
    Training training(rest);
    std::vector<double>& all = means.emplace_back();
    training.solver->on_averaged_test = [&](int, const std::vector<OutputBlob>& blobs) {
      for (const OutputBlob& blob : blobs) all.insert(all.end(), blob.values.begin(), blob.values.end());
    };
    training.solver->step(3);
    const SnapshotPaths paths = training.solver->snapshot();
    models.push_back(read_file(paths.model) + read_file(paths.averaged));
  }
  EXPECT_EQ(means[0].size(), 4u);
  for (size_t i = 1; i < means.size(); ++i) {
    EXPECT_EQ(means[i], means[0]) << i;
    EXPECT_TRUE(models[i] == models[0]) << i;
  }
}

TEST(Pipeline, AMicroBatchIsABatchOfIterSize) {
  Staged cut{.stages = 1, .micro_batches = 4};
  std::string layers = net(1);
  for (const std::string from : {"dim: 8 dim: 3", "dim: 8 dim: 4"}) {
    layers.replace(layers.find(from), 6, "dim: 2");
  }
  const Staged small{.settings = cut.settings + " iter_size: 4", .stages = 1, .micro_batches = 1, .layers = layers};
  EXPECT_EQ(trained(cut), trained(small));
}

TEST(Pipeline, MicroBatchesDivideTheBatch) {
  const Error error = error_of([] { trained({.stages = 2, .micro_batches = 3}); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(),
                       "layer \"data\": a batch of 8 cannot be cut into 3 micro-batches; make it a "
                       "multiple, such as 9"))
      << error.what();
  EXPECT_EQ(error_of([] { trained({.micro_batches = 0}); }).kind(), ErrorKind::kUsage);
}

/// What all copies of a stage's net take is known before any of it is: here two of the first stage.
TEST(Pipeline, IsRefusedWhereTheCopiesOfAStageTakeTooMuch) {
  Staged run{.stages = 2, .micro_batches = 8};
  size_t taken = 0, arena = 0;
  {
    const Training training(run);
    taken = training.devices[0]->bytes_in_use();
    arena = training.solver->pipeline()->stage_net(0).plan().arena_bytes;
    EXPECT_LT(training.devices[1]->bytes_in_use(), taken - arena);
  }
  run.budget = taken;
  const Training fits(run);
  run.budget = taken - arena / 2;
  const Error error = error_of([&] { const Training too_large(run); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_TRUE(contains(error.what(), "out of memory: the net staged")) << error.what();
  EXPECT_TRUE(contains(error.what(), "give layers of this device to another one")) << error.what();
}

/// Nothing comes back to a stage that does not learn: it runs ahead as far as there is room.
TEST(Pipeline, AStageThatDoesNotLearnSendsAlone) {
  std::string layers = net(4);
  layers.insert(layers.find("device: 0"), "param { lr_mult: 0 } param { lr_mult: 0 } ");
  for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward}) {
    EXPECT_EQ(trained({.stages = 4, .micro_batches = 8, .order = order, .layers = layers}),
              trained({.stages = 1, .micro_batches = 8, .layers = layers}));
  }
}

/// With twice as many micro-batches of one size 1F1B takes no more memory, and GPipe that of their activations.
TEST(Pipeline, MemoryFollowsTheOrder) {
  const auto taken = [](PipelineOrder order, int micro_batches) {
    Training training({.stages = 4, .micro_batches = micro_batches, .order = order, .batch = 2 * micro_batches});
    training.solver->step(1);
    std::vector<size_t> bytes;
    for (const auto& device : training.devices) bytes.push_back(device->bytes_in_use());
    return bytes;
  };
  constexpr PipelineOrder kOneByOne = PipelineOrder::kOneForwardOneBackward, kGPipe = PipelineOrder::kGPipe;
  EXPECT_EQ(taken(kOneByOne, 8), taken(kOneByOne, 4));
  const std::vector<size_t> four = taken(kGPipe, 4), eight = taken(kGPipe, 8), least = taken(kOneByOne, 4);
  EXPECT_EQ(four[0], least[0]);  // as many are in flight
  for (size_t stage = 0; stage < 4; ++stage) {
    const size_t copy = (eight[stage] - four[stage]) / 4;
    EXPECT_GT(copy, 0u);
    EXPECT_EQ(four[stage] - least[stage], stage * copy) << "stage " << stage;
  }
}

TEST(Pipeline, AnErrorOfAStageEndsAll) {
  for (const int bad : {1, 3}) {
    std::string layers = net(4);
    const std::string loss =
        bad == 3 ? "'loss' type: 'EuclideanLoss' bottom: 'ip2'" : "'aux_loss' type: 'EuclideanLoss' bottom: 'aux'";
    const std::string softmax =
        bad == 3 ? "'loss' type: 'SoftmaxWithLoss' bottom: 'ip2'" : "'aux_loss' type: 'SoftmaxWithLoss' bottom: 'aux'";
    layers.replace(layers.find(loss), loss.size(), softmax);
    const std::string labels = "shape { dim: 8 dim: 4 }", one = "shape { dim: 8 }";
    layers.replace(layers.find(labels), labels.size(), one);
    const std::string uniform = "{ type: 'uniform' min: -1 max: 1 }", seventh = "{ type: 'constant' value: 7 }";
    layers.replace(layers.find(uniform), uniform.size(), seventh);
    // The other loss goes: it has other labels.
    const std::string other = bad == 3
                                  ? layer("aux_loss", "EuclideanLoss", {"aux", "label"}, "aux_loss", "loss_weight: 0.3")
                                  : layer("loss", "EuclideanLoss", {"ip2", "label"}, "loss");
    layers.erase(layers.find(other), other.size());
    if (bad == 1) layers.insert(layers.rfind('}'), layer("kept", "Reduction", {"ip2"}, "kept", "loss_weight: 1"));
    Training training({.stages = 4, .layers = layers});
    const Error error = error_of([&] { training.solver->step(2); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_EQ(error.layer(), bad == 3 ? "loss" : "aux_loss") << error.what();
  }
}

TEST(Pipeline, ALossThatIsNotFiniteStopsBeforeTheUpdate) {
  Training training({.stages = 2});
  training.solver->step(1);
  training.solver->finish_updates();
  Net& net = training.solver->train_net();
  Param& weights = *net.layer_params("ip2")[0];
  std::vector<float> broken = net.blobs().read_param(weights);
  broken[0] = 1e30f;
  net.blobs().write_param(weights, broken);
  training.solver->pipeline()->scatter();
  const Error error = error_of([&] { training.solver->step(1); });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
  training.solver->pipeline()->gather();
  EXPECT_EQ(net.blobs().read_param(weights), broken);
}

TEST(Pipeline, LayersThatCarryStatesAreRefused) {
  const std::string layers =
      "net_param { layer { name: 'data' type: 'DummyData' top: 'x' top: 'cont' top: 'label' dummy_data_param {\n"
      " shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 dim: 2 } } }\n" +
      layer("lstm", "LSTM", {"x", "cont"}, "h",
            on(0) + "recurrent_param { num_output: 2 weight_filler { type: 'xavier' } }") +
      layer("loss", "EuclideanLoss", {"h", "label"}, "loss", on(1)) + "}";
  const Error error = error_of([&] { trained({.stages = 2, .micro_batches = 2, .layers = layers}); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.layer(), "lstm") << error.what();
}

TEST(Pipeline, SettingsThatStagesCannotHaveAreRefused) {
  for (const std::string settings : {"debug_info: true", "eval_type: 'detection'"}) {
    const Error error = error_of([&] { trained({.settings = settings, .stages = 2}); });
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    EXPECT_TRUE(contains(error.what(), settings.substr(0, settings.find(':')))) << error.what();
  }
}

TEST(Pipeline, SaysItsStagesAndWhatTheyLose) {
  Training training({.stages = 4, .micro_batches = 8});
  DevicePipeline& pipeline = *training.solver->pipeline();
  const std::vector<std::string> lines = pipeline.describe();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "Pipeline: 4 stages, 1f1b, 8 micro-batches of 1 in an iteration");
  EXPECT_TRUE(contains(lines[1], "stage 0 on sim: layers data to relu1, ")) << lines[1];
  EXPECT_TRUE(contains(lines[1], "activations of 4 micro-batches")) << lines[1];
  EXPECT_TRUE(contains(lines[4], "activations of 1 micro-batch")) << lines[4];
  EXPECT_TRUE(contains(lines[5], "bubble: 27.3 % of the time if all stages take the same")) << lines[5];
  EXPECT_TRUE(pipeline.idle().empty());
  training.solver->step(3);
  const std::vector<double> idle = pipeline.idle();
  ASSERT_EQ(idle.size(), 4u);
  for (const double share : idle) {
    EXPECT_GT(share, 0);
    EXPECT_LT(share, 1);
  }
}

/// Four stages of two layers each, which take as long as the fake GPUs pause.
std::string equal_stages() {
  std::string text =
      "net_param { layer { name: 'data' type: 'DummyData' top: 'x' top: 'label' dummy_data_param {\n"
      " shape { dim: 8 dim: 4 } shape { dim: 8 dim: 4 } data_filler { type: 'gaussian' std: 1 } } }\n";
  std::string bottom = "x";
  for (int stage = 0; stage < 4; ++stage) {
    const std::string number = std::to_string(stage), ip = "ip" + number, top = "y" + number;
    text += layer(ip, "InnerProduct", {bottom}, ip, inner_product(4, on(stage)));
    text += stage < 3 ? layer(top, "TanH", {ip}, top) : layer("loss", "EuclideanLoss", {ip, "label"}, "loss");
    bottom = top;
  }
  return text + "}";
}

/// Pauses, not the processors of this machine, set the pace; the bounds are far wider than what is measured.
TEST(Pipeline, StandsIdleForAsLongAsIsPredicted) {
  std::vector<double> measured;
  for (const int micro_batches : {1, 8}) {
    for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward}) {
      Training training({.stages = 4, .micro_batches = micro_batches, .order = order, .layers = equal_stages()});
      for (const auto& device : training.devices) device->set_lateness(0, 3000);
      training.solver->step(4);
      const std::vector<double> idle = training.solver->pipeline()->idle();
      measured.push_back(std::accumulate(idle.begin(), idle.end(), 0.0) / 4);
      EXPECT_NEAR(measured.back(), bubble_of_equal_stages(4, micro_batches), 0.12)
          << name_of(order) << ", " << micro_batches;
    }
  }
  EXPECT_LT(measured[2], measured[0] - 0.2);
  EXPECT_LT(measured[3], measured[1] - 0.2);
}

bool has_gpus() {
  try {
    return !list_gpus().empty();
  } catch (const Error&) {
    return false;
  }
}

/// The GPUs of this machine, where there are any: the first and the last one, which may be the same.
TEST(PipelineOnGpus, HasTheWeightsOfOne) {
  if (!has_gpus()) GTEST_SKIP() << "there is no GPU";
  const std::shared_ptr<Device> first = open_gpu(0), last = open_gpu(list_gpus().back().ordinal);
  for (Device* const device : {first.get(), last.get()}) device->set_math({.tf32 = false, .deterministic = true});
  const auto trained_on = [](const std::vector<Device*>& devices, const Staged& run) {
    const std::unique_ptr<Solver> solver = solver_on(devices, run);
    solver->step(6);
    solver->finish_updates();
    return everything(*solver);
  };
  const std::vector<float> one = trained_on({first.get()}, {});
  for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward}) {
    expect_close(trained_on({first.get(), last.get()}, {.stages = 2, .order = order}), one, 1e-4);
  }
}

}  // namespace
}  // namespace robusta::test::pipeline_test
