// Stages on several ranks: weights, histories, losses, tests and files of one rank that takes the micro-batches in
// turn.
#include "solver/pipeline/ranks/rank_pipeline.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/log.h"
#include "solver/pipeline/ranks/gathered_net.h"
#include "solver/ranked_training.h"
#include "solver/staged_net.h"
#include "solver/staged_ranks.h"
#include "support/errors.h"

namespace robusta::test::rank_pipeline_test {
namespace {

using namespace staged_net;  // NOLINT: its pieces of prototxt

void expect_close(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << what << ' ' << i;
}

void expect_close(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& want,
                  double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t a = 0; a < got.size(); ++a)
    expect_close(std::vector<double>(got[a].begin(), got[a].end()), {want[a].begin(), want[a].end()}, tolerance,
                 what + ' ' + std::to_string(a));
}

void expect_close(const StagedOutcome& got, const StagedOutcome& want, double tolerance) {
  expect_close(got.losses, want.losses, tolerance, "losses");
  expect_close(got.tested, want.tested, tolerance, "tests");
  expect_close(got.averaged_tested, want.averaged_tested, tolerance, "averaged tests");
  expect_close(got.arrays, want.arrays, tolerance, "weights");
  expect_close(got.averages, want.averages, tolerance, "averages");
  expect_close(got.histories, want.histories, tolerance, "histories");
}

/// As many stages as ranks.
StagedOutcome trained(StagedRun run) {
  if (run.layers.empty()) run.layers = net(run.ranks);
  return train_staged(run);
}

void expect_those_of_one_rank(StagedRun run) {
  const StagedOutcome staged = trained(run);
  run.layers = run.layers.empty() ? net(run.ranks) : run.layers;
  run.ranks = 1;
  const StagedOutcome one = trained(run);
  EXPECT_EQ(staged.losses.size(), static_cast<size_t>(run.iterations));
  EXPECT_FALSE(staged.arrays.empty());
  EXPECT_FALSE(staged.histories.empty());
  EXPECT_EQ(staged.losses, one.losses);
  EXPECT_EQ(staged.arrays, one.arrays);
  EXPECT_EQ(staged.histories, one.histories);
  EXPECT_EQ(staged.averages, one.averages);
  // A test adds the losses of a stage before it adds those of all.
  EXPECT_EQ(staged.tested, one.tested);
  EXPECT_EQ(staged.averaged_tested, one.averaged_tested);
}

class RankStages : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pipeline, RankStages, testing::Values(2, 4));

TEST_P(RankStages, HaveTheBitsOfOneRankInBothOrders) {
  for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward}) {
    for (const int micro_batches : {1, 2, 8}) {
      SCOPED_TRACE(name_of(order) + " " + std::to_string(micro_batches));
      expect_those_of_one_rank({.ranks = GetParam(), .micro_batches = micro_batches, .order = order});
    }
  }
}

TEST_P(RankStages, HaveTheBitsOfOneRankWithEveryRule) {
  for (const std::string settings :
       {"type: 'Nesterov' momentum: 0.9", "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
        "type: 'LAMB' momentum: 0.9 momentum2: 0.99 delta: 1e-3", "momentum: 0.9 clip_gradients: 0.1",
        "momentum: 0.9 larc: true larc_eta: 0.1", "momentum: 0.9 snapshot_diff: true",
        "momentum: 0.9 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2",
        "momentum: 0.9 iter_size: 2 lr_policy: 'step' gamma: 0.5 stepsize: 2"}) {
    SCOPED_TRACE(settings);
    expect_those_of_one_rank({.settings = settings, .ranks = GetParam()});
  }
}

TEST_P(RankStages, TestAsOneRank) {
  for (const std::string more : {"", "ema_decay: 0.8 "}) {
    expect_those_of_one_rank(
        {.settings = "momentum: 0.9 test_iter: 3 test_interval: 2 " + more, .ranks = GetParam(), .iterations = 5});
  }
}

/// Nothing comes back to a stage that does not learn: it runs ahead as far as there is room.
TEST_P(RankStages, AStageThatDoesNotLearnSendsAlone) {
  std::string layers = net(GetParam());
  layers.insert(layers.find("device: 0"), "param { lr_mult: 0 } param { lr_mult: 0 } ");
  for (const PipelineOrder order : {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward})
    expect_those_of_one_rank({.layers = layers, .ranks = GetParam(), .micro_batches = 8, .order = order});
}

TEST_P(RankStages, BeginWithTheWeightsThatRankZeroReads) {
  const TempDir folder;
  StagedRun first{.layers = net(GetParam()), .iterations = 2};
  train_staged(first, folder / "first");
  const std::string weights = folder / "first_iter_2.caffemodel";
  expect_those_of_one_rank({.ranks = GetParam(), .iterations = 2, .weights = {weights}});
  const StagedOutcome begun = trained({.ranks = GetParam(), .iterations = 0, .weights = {weights}});
  const StagedOutcome anew = trained({.ranks = GetParam(), .iterations = 0});
  EXPECT_NE(begun.arrays, anew.arrays);
}

/// Four iterations, of which each half runs on another number of ranks.
TEST_P(RankStages, GoOnFromSnapshotsOfOtherRanksAndTheOtherWayRound) {
  const std::string adam = "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3 ema_decay: 0.8 ";
  const StagedOutcome whole = trained({.settings = adam, .layers = net(1)});
  const auto other = 6 - GetParam();
  for (const auto& [first, second] :
       {std::pair{1, GetParam()}, {GetParam(), 1}, {GetParam(), GetParam()}, {GetParam(), other}}) {
    const TempDir folder;
    train_staged({.settings = adam, .layers = net(first), .ranks = first, .iterations = 2}, folder / "a");
    const StagedOutcome rest = trained({.settings = adam,
                                        .layers = net(second),
                                        .ranks = second,
                                        .iterations = 2,
                                        .resume = folder / "a_iter_2.solverstate"});
    EXPECT_EQ(rest.arrays, whole.arrays) << first << " to " << second;
    EXPECT_EQ(rest.histories, whole.histories) << first << " to " << second;
    EXPECT_EQ(rest.averages, whole.averages) << first << " to " << second;
  }
}

/// A rank has its own stage's parameters, and the whole ones while files are written alone.
TEST_P(RankStages, HaveTheirOwnParametersAlone) {
  const TempDir folder;
  StagedRun run{.layers = net(GetParam()), .ranks = GetParam()};
  run.settings += "snapshot_prefix: '" + (folder / "s") + "'";
  std::mutex mutex;
  int64_t all = 0, whole = 0;
  run_staged(run, [&](Solver& solver, Ranks&) {
    const auto holds_none = [&] {
      for (const ParamPtr& param : solver.whole_net().params()) EXPECT_EQ(param->data, nullptr);
    };
    holds_none();
    solver.step(1);
    solver.snapshot();
    holds_none();
    solver.step(1);
    const std::lock_guard lock(mutex);
    all += elements_of(solver.train_net());
    whole = elements_of(solver.whole_net());
    EXPECT_LT(elements_of(solver.train_net()), whole);
  });
  EXPECT_EQ(all, whole);
}

/// Images, of which each rank takes its part of every global batch.
class RankPipelines : public Training {
 protected:
  static std::string layers(int batch) {
    const std::string normed = "batch_norm_param { sync: true } ";
    return "net_param { " + data_layer(batch) + test_data_layer() +
           layer("conv1", "Convolution", {"data"}, "conv1", convolution(on(0))) +
           layer("bn", "BatchNorm", {"conv1"}, "conv1", normed) + layer("relu1", "ReLU", {"conv1"}, "conv1") +
           layer("aux", "InnerProduct", {"conv1"}, "aux", inner_product(4)) +
           layer("aux_loss", "SoftmaxWithLoss", {"aux", "label"}, "aux_loss", "loss_weight: 0.3") +
           layer("conv2", "Convolution", {"conv1"}, "conv2", convolution(on(1))) +
           layer("drop", "Dropout", {"conv2"}, "conv2") +
           layer("ip", "InnerProduct", {"conv2"}, "ip", inner_product(4)) +
           layer("loss", "SoftmaxWithLoss", {"ip", "label"}, "loss", "loss_param { ignore_label: 3 }") + "}";
  }
};

/// Two pipelines of two stages have the numbers of one rank with the batch of both, to rounding.
TEST_F(RankPipelines, HaveTheNumbersOfOneRank) {
  for (const std::string settings :
       {"momentum: 0.9 weight_decay: 0.01 ", "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-2 ",
        "momentum: 0.9 clip_gradients: 0.1 ", "momentum: 0.9 larc: true larc_eta: 0.1 iter_size: 2 ",
        "momentum: 0.9 ema_decay: 0.8 test_iter: 3 test_interval: 2 "}) {
    const StagedOutcome one =
        trained({.settings = settings, .layers = layers(16), .micro_batches = 2, .dtype = DType::kF64});
    EXPECT_EQ(one.tested.empty(), settings.find("test_iter") == std::string::npos);
    for (const int hosts : {1, 2}) {
      SCOPED_TRACE(settings + std::to_string(hosts));
      const StagedRun run{.settings = settings,
                          .layers = layers(8),
                          .ranks = 4,
                          .micro_batches = 2,
                          .ddl = "-check_iter 1",
                          .hosts = hosts,
                          .dtype = DType::kF64};
      expect_close(trained(run), one, 1e-6);
    }
  }
}

/// One rank alone computes in tests only the pixels that the second convolution reads; stages send all.
TEST_F(RankPipelines, TestWhatReadsNotEveryPixel) {
  const std::string strided =
      "convolution_param { num_output: 4 kernel_size: 1 stride: 2 weight_filler { type: 'xavier' } } ";
  const auto layers = [&](int batch) {
    return "net_param { " + data_layer(batch) + test_data_layer() +
           layer("conv1", "Convolution", {"data"}, "conv1", convolution(on(0))) +
           layer("conv2", "Convolution", {"conv1"}, "conv2", strided + on(1)) +
           layer("ip", "InnerProduct", {"conv2"}, "ip", inner_product(4)) +
           layer("loss", "SoftmaxWithLoss", {"ip", "label"}, "loss") + "}";
  };
  const std::string settings = "momentum: 0.9 test_iter: 3 test_interval: 2 ";
  const StagedOutcome one =
      trained({.settings = settings, .layers = layers(16), .micro_batches = 2, .dtype = DType::kF64});
  const StagedRun run{.settings = settings, .layers = layers(8), .ranks = 4, .micro_batches = 2, .dtype = DType::kF64};
  EXPECT_FALSE(one.tested.empty());
  expect_close(trained(run), one, 1e-6);
}

TEST_F(RankPipelines, GoOnFromSnapshotsToTheSameBits) {
  const std::string adam = "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3 ";
  const StagedRun run{.settings = adam, .layers = layers(8), .ranks = 4};
  const StagedOutcome whole = trained(run);
  EXPECT_EQ(trained(run), whole);  // they repeat
  const TempDir folder;
  StagedRun half = run;
  half.iterations = 2;
  train_staged(half, folder / "a");
  half.resume = folder / "a_iter_2.solverstate";
  const StagedOutcome rest = trained(half);
  EXPECT_EQ(rest.arrays, whole.arrays);
  EXPECT_EQ(rest.histories, whole.histories);
}

TEST_F(RankPipelines, DivideAGlobalBatchAmongThem) {
  const StagedRun own{.layers = layers(4), .ranks = 4, .micro_batches = 2};
  StagedRun global = own;
  global.layers = layers(8);
  global.batch_is_global = true;
  EXPECT_EQ(trained(global), trained(own));
}

TEST(RankPipeline, SaysItsStagesAndWhatTheyLose) {
  std::vector<std::string> lines;
  std::string idle;
  run_staged({.layers = net(2), .ranks = 4}, [&](Solver& solver, Ranks& ranks) {
    solver.step(3);
    const std::string told = solver.rank_pipeline()->describe_idle();
    if (!ranks.root()) return;
    lines = solver.rank_pipeline()->describe();
    idle = told;
  });
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "Pipeline: 2 pipelines of 2 stages, 1f1b, 4 micro-batches of 2 in an iteration");
  EXPECT_TRUE(contains(lines[1], "stage 0 on ranks 0, 1: layers data to aux_loss, ")) << lines[1];
  EXPECT_TRUE(contains(lines[2], "stage 1 on ranks 2, 3: layers sum to loss, ")) << lines[2];
  EXPECT_TRUE(contains(lines[3], "bubble: 20.0 % of the time if all stages take the same")) << lines[3];
  EXPECT_TRUE(contains(idle, "Pipeline: the stages stood idle for ")) << idle;
}

/// What crosses is what is told: conv1, conv2 and the labels there, the gradients of the first two back.
TEST(RankPipeline, SendsWhatCrosses) {
  std::mutex mutex;
  std::map<int, double> bytes;
  run_staged({.layers = net(2), .ranks = 2}, [&](Solver& solver, Ranks& ranks) {
    solver.step(3);
    const std::lock_guard lock(mutex);
    bytes[ranks.stage()] = solver.rank_pipeline()->traffic().bytes;
  });
  const double convolved = 8 * 4 * 6 * 6 * sizeof(float), labels = 8 * 4 * sizeof(float);
  EXPECT_EQ(bytes[0], 3 * (2 * convolved + labels));
  EXPECT_EQ(bytes[1], 3 * 2 * convolved);
}

TEST(RankPipeline, ARequestOfAnyRankStopsAll) {
  for (const int asking : {1, 3}) {
    std::mutex mutex;
    std::vector<int> ended;
    run_thread_ranks(4, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks ranks(world, {});
      SolverOptions options;
      options.ranks = &ranks;
      options.micro_batches = 2;
      int polled = 0;
      options.poll = [&] { return world.rank() == asking && ++polled == 2 ? Request::kStop : Request::kNone; };
      Solver solver(parse_solver("base_lr: 0.02 lr_policy: 'fixed' random_seed: 3 " + net(2), "s"), options);
      solver.step(10);
      const std::lock_guard lock(mutex);
      ended.push_back(solver.state().iter);
    });
    EXPECT_EQ(ended, std::vector<int>(4, 2));
  }
}

TEST(RankPipeline, ALossThatIsNotFiniteEndsAllBeforeTheUpdate) {
  for (const int ranks : {2, 4}) {
    const Error error = error_of([&] {
      train_staged({.settings = "momentum: 0.9 lr_policy: 'step' gamma: 1e30 stepsize: 1 ",
                    .layers = net(2),
                    .ranks = ranks,
                    .iterations = 6});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric) << error.what();
    EXPECT_TRUE(contains(error.what(), "in the pipeline of rank ")) << error.what();
  }
}

int threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

/// No courier is left behind, be it in the midst of a message or waiting for one.
void expect_threads_to_end(int before) {
  for (int i = 0; i < 500 && threads_of_process() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(threads_of_process(), before);
}

/// Of a layer of the last stage, and of the first one while the others wait for it.
TEST(RankPipeline, AnErrorOfAStageEndsAll) {
  const int threads = threads_of_process();
  for (const int ranks : {2, 4}) {
    for (const std::string place : {"1", "0"}) {
      const std::string layers =
          "net_param { layer { name: 'data' type: 'DummyData' top: 'x' top: 'label' dummy_data_param {\n"
          " shape { dim: 8 dim: 4 } shape { dim: 8 } data_filler { type: 'gaussian' std: 1 }\n"
          " data_filler { type: 'constant' value: 7 } } }\n" +
          layer("ip1", "InnerProduct", {"x"}, "ip1", inner_product(4, on(0))) +
          layer("bad", "SoftmaxWithLoss", {"ip1", "label"}, "bad", "device: " + place + " ") +
          layer("ip2", "InnerProduct", {"ip1"}, "ip2", inner_product(4, on(1))) +
          layer("kept", "Reduction", {"ip2"}, "kept", "loss_weight: 1") + "}";
      const Error error = error_of([&] { train_staged({.layers = layers, .ranks = ranks}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
      EXPECT_EQ(error.layer(), "bad") << error.what();
      expect_threads_to_end(threads);
    }
  }
}

TEST(RankPipeline, RefusesWhatCannotBe) {
  const auto refusal = [](const std::string& layers, const std::string& ddl = "", const std::string& settings = "",
                          int ranks = 2) {
    return error_of([&] {
      train_staged({.settings = settings, .layers = layers, .ranks = ranks, .micro_batches = 2, .ddl = ddl});
    });
  };
  const auto expect = [](const Error& error, ErrorKind kind, const std::string& words, const std::string& where) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(contains(error.what(), words)) << error.what();
    EXPECT_TRUE(contains(error.location(), where)) << error.what() << ", not " << where;
  };
  for (const std::string ddl : {"-shard states", "-mode b:1x2 -sync_every 4", "-op adasum", "-compress int8",
                                "-mode b:2x1", "-elastic 1:2", "-fit auto"})
    expect(refusal(net(2), ddl), ErrorKind::kUnsupported, "`device` of layers with -ddl", "staged.prototxt");
  expect(refusal(net(2), "-servers 1 -groups 1", "", 3), ErrorKind::kUnsupported, "-servers", "staged.prototxt");
  expect(refusal(net(2), "", "debug_info: true"), ErrorKind::kUnsupported, "debug_info in a pipeline",
         "staged.prototxt:1");
  expect(refusal(net(2), "", "", 3), ErrorKind::kConfig, "makes 2 stages, and 3 ranks train", "staged.prototxt");
  std::string gap = net(2);
  for (const size_t at : {gap.find("device: 1"), gap.rfind("device: 1")}) gap.replace(at, 9, "device: 3");
  expect(refusal(gap, "", "", 4), ErrorKind::kConfig,
         "layers name devices up to 3, and no layer that is trained is on device 1", "staged.prototxt");
  std::string cut = net(2);
  cut.insert(cut.find("inner_product_param"), "multinode { model_parts: 2 } ");
  expect(refusal(cut), ErrorKind::kUnsupported, "model_parts", "staged.prototxt");
}

/// One device for all layers: nothing is cut, and ranks train data parallel.
TEST(RankPipeline, OneStageIsNone) {
  std::string layers = net(1);
  layers.insert(layers.find("convolution_param"), "device: 0 ");
  run_staged({.layers = layers, .ranks = 2}, [](Solver& solver, Ranks& ranks) {
    EXPECT_EQ(solver.rank_pipeline(), nullptr);
    EXPECT_EQ(ranks.learners(), 2);
    solver.step(1);
  });
}

}  // namespace
}  // namespace robusta::test::rank_pipeline_test
