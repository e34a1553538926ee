// Convolutions whose outputs ranks share out (model_parts): the numbers of one rank, from a part of the layer on each.
#include <mutex>

#include "solver/ranked_training.h"
#include "solver/ranks/model/cut_net.h"
#include "support/errors.h"

namespace robusta::test::cut_convolution_test {
namespace {

const std::string kAdam = "base_lr: 0.01 lr_policy: 'fixed' type: 'Adam' ";
const std::string kFrozen = "param { lr_mult: 0 } param { lr_mult: 0 } ";

std::string parts(int count) { return "multinode { model_parts: " + std::to_string(count) + " } "; }

/// With fields of the layer, and of its convolution_param.
std::string convolution(const std::string& name, const std::string& bottom, const std::string& layer,
                        const std::string& fields) {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name + "' " + layer +
         "convolution_param { " + fields +
         " weight_filler { type: 'msra' } bias_filler { type: 'constant' value: 0.1 } "
         "} } ";
}

std::string relu(const std::string& blob) {
  return "layer { name: '" + blob + "_relu' type: 'ReLU' bottom: '" + blob + "' top: '" + blob + "' } ";
}

std::string classifier(const std::string& bottom) {
  return "layer { name: 'ip' type: 'InnerProduct' bottom: '" + bottom +
         "' top: 'ip' inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } } " + loss_layer();
}

/// Three convolutions, the first two of which have these fields: of groups, and of one.
std::string net(const std::string& grouped, const std::string& plain, const std::string& more = "") {
  return convolution("a", "data", "", "num_output: 8 kernel_size: 3 pad: 1") + relu("a") +
         convolution("b", "a", grouped, "num_output: 16 group: 4 kernel_size: 3 stride: 2 pad: 1 " + more) + relu("b") +
         convolution("c", "b", plain, "num_output: 12 kernel_size: 2 dilation: 2 pad: 1 " + more) + relu("c") +
         classifier("c");
}

class CutConvolution : public Training {
 protected:
  static void expect_those_of_one_rank(const Run& run, double tolerance = 1e-6) {
    Run one = run;
    one.ranks = 1;
    one.ddl = "";
    one.hosts = 1;
    expect_same(train(run), train(one), tolerance);
  }

  /// What each of so many ranks has planned for a layer.
  static std::string kernel_of(const std::string& layers, const std::string& layer, DType type = DType::kF32) {
    std::string described;
    run_thread_ranks(2, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.dtype = type;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(8) + layers + "}", "m"), options);
      const Net& net = solver.train_net();
      for (const Unit& unit : net.plan().units) {
        if (world.rank() != 1 || net.graph().nodes[unit.nodes[0]].layer->name() != layer) continue;
        described = unit.kernel->describe() + (unit.nodes.size() > 1 ? " and more" : "");
      }
    });
    return described;
  }
};

class CutParts : public CutConvolution, public testing::WithParamInterface<int> {};

TEST_P(CutParts, HaveTheNumbersOfOneRank) {
  for (const std::string& layers : {net("", parts(0)), net(parts(0), ""), net(parts(0), parts(2))}) {
    for (const std::string& settings : {kFixed, kAdam, kFixed + "clip_gradients: 0.3 iter_size: 2 "})
      expect_those_of_one_rank({.settings = settings, .layers = layers, .ranks = GetParam()});
  }
}

TEST_P(CutParts, MayHaveNoBias) {
  expect_those_of_one_rank(
      {.settings = kFixed, .layers = net(parts(0), parts(0), "bias_term: false"), .ranks = GetParam()});
}

TEST_P(CutParts, MayHaveAReluInside) {
  expect_those_of_one_rank(
      {.settings = kFixed, .layers = net(parts(0), parts(0), "relu: true negative_slope: 0.1"), .ranks = GetParam()});
}

/// None of what goes into it has a gradient.
TEST_P(CutParts, MayBeOfTheFirstLayer) {
  const std::string layers =
      convolution("a", "data", parts(0), "num_output: 8 kernel_size: 3") + relu("a") + classifier("a");
  expect_those_of_one_rank({.settings = kFixed, .layers = layers, .ranks = GetParam()});
}

TEST_P(CutParts, MayNotLearn) {
  const std::string weights = "param { lr_mult: 0 } ", bias = "param { } param { lr_mult: 0 } ";
  for (const std::string& fields : {kFrozen, weights, bias})
    expect_those_of_one_rank(
        {.settings = kFixed, .layers = net(fields + parts(0), fields + parts(0)), .ranks = GetParam()});
}

/// In single precision the part has the kernels that a layer of its own has, with blocks of channels and packed
/// weights.
TEST_P(CutParts, MayHaveFastKernels) {
  const std::string wide = convolution("a", "data", parts(0), "num_output: 64 kernel_size: 3 pad: 1") + relu("a") +
                           convolution("b", "a", parts(0), "num_output: 64 kernel_size: 3 pad: 1") + relu("b") +
                           classifier("b");
  for (const std::string& layers : {net(parts(0), parts(0)), wide}) {
    const Run run{
        .settings = kFixed, .layers = layers, .ranks = GetParam(), .dtype = DType::kF32, .ddl = "-check_iter 1"};
    expect_those_of_one_rank(run, 1e-4);
    EXPECT_EQ(train(run).numbers, train(run).numbers);
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, CutParts, testing::Values(2, 4));

/// One axis, three of them, and channels on another axis than the second one.
TEST_F(CutConvolution, OverAnyAxes) {
  const std::string head =
      "layer { name: 'shaped' type: 'Reshape' bottom: 'data' top: 'shaped' reshape_param { shape { ";
  const std::string dims[] = {"dim: 0 dim: 6 dim: 18", "dim: 0 dim: 2 dim: 6 dim: 3 dim: 3",
                              "dim: 0 dim: 3 dim: 6 dim: 6"};
  const std::string fields[] = {"kernel_size: 3", "kernel_size: 2 pad: 1 group: 2", "axis: 2 kernel_size: 3"};
  for (size_t i = 0; i < 3; ++i) {
    for (const DType type : {DType::kF64, DType::kF32}) {
      const std::string layers = head + dims[i] + " } } } " +
                                 convolution("a", "shaped", parts(0), "num_output: 8 " + fields[i]) + relu("a") +
                                 classifier("a");
      expect_those_of_one_rank({.settings = kFixed, .layers = layers, .ranks = 2, .dtype = type},
                               type == DType::kF64 ? 1e-6 : 1e-4);
    }
  }
}

TEST_F(CutConvolution, GroupsOfRanksAreDataParallelAmongThem) {
  const Run run{.settings = kAdam + "clip_gradients: 0.3 ",
                .layers = net(parts(4), parts(2)),
                .ranks = 8,
                .ddl = "-check_iter 1",
                .hosts = 2};
  expect_those_of_one_rank(run);
}

TEST_F(CutConvolution, TestsAndSnapshotsAreOfAllParts) {
  const TempDir folder;
  Run first{.settings = kAdam + "test_iter: 5 test_interval: 2 snapshot_prefix: '" + (folder / "c") + "' ",
            .layers = test_data_layer() + net(parts(0), parts(0)),
            .ranks = 4};
  expect_those_of_one_rank(first);
  first.dtype = DType::kF32;
  first.snapshot = true;
  train(first);
  Run second = first, whole = first;
  second.snapshot = whole.snapshot = false;
  whole.iterations = 12;
  second.resume = folder / "c_iter_6.solverstate";
  const Outcome undisturbed = train(whole);
  EXPECT_EQ(train(second).numbers, undisturbed.numbers);
  second.layers = test_data_layer() + net("", "");
  expect_same({{}, train(second).numbers, {}}, {{}, undisturbed.numbers, {}}, 1e-4);
}

TEST_F(CutConvolution, IsComputedAsALayerOfItsOwnAndNotFused) {
  const std::string cut = net(parts(0), parts(0)), whole = net("", "");
  for (const std::string layer : {"b", "c"}) {
    const std::string fast = kernel_of(cut, layer);
    EXPECT_TRUE(contains(fast, "onednn")) << fast;
    EXPECT_TRUE(contains(fast, " of part 2 of 2")) << fast;
    EXPECT_FALSE(contains(fast, "and more")) << fast;
    EXPECT_TRUE(contains(kernel_of(whole, layer), "and more"));
    EXPECT_EQ(kernel_of(cut, layer, DType::kF64), "reference of part 2 of 2");
  }
}

/// A program may run passes of its own on one rank: nobody is asked.
TEST_F(CutConvolution, APassWithoutRanksIsOfAllParts) {
  std::mutex mutex;
  const auto pass_of_one = [&](const std::string& layers, DType type) {
    std::vector<double> numbers;
    run_thread_ranks(2, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.dtype = type;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(8) + layers + "}", "m"), options);
      solver.step(2);
      solver.finish_updates();
      if (world.rank() == 0) return;
      const Pass pass{.seed = 3, .first_sample = 5, .next_sample = 13, .batch = 8};
      const std::lock_guard lock(mutex);
      numbers.push_back(solver.train_net().forward(pass));
      solver.train_net().backward(pass, false);
      for (const ParamPtr& param : solver.train_net().params()) {
        const void* const values = param->gradient().data;
        for (int64_t i = 0; i < param->desc.count(); ++i) {
          numbers.push_back(type == DType::kF64 ? static_cast<const double*>(values)[i]
                                                : static_cast<double>(static_cast<const float*>(values)[i]));
        }
      }
    });
    return numbers;
  };
  for (const DType type : {DType::kF64, DType::kF32}) {
    const std::vector<double> cut = pass_of_one(net(parts(0), parts(0)), type), whole = pass_of_one(net("", ""), type);
    ASSERT_EQ(cut.size(), whole.size());
    const double tolerance = type == DType::kF64 ? 1e-12 : 1e-4;
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(cut[i], whole[i], tolerance) << i;
  }
}

TEST_F(CutConvolution, BytesAreThoseThatArePredicted) {
  for (const int count : {2, 4}) {
    run_thread_ranks(4, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.ranks = &group;
      const std::string layers = net(parts(count), parts(count));
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(4) + layers + "}", "m"), options);
      double predicted = 0;
      const std::vector<ModelCut>& cuts = solver.model_ranks()->cuts();
      for (const ModelCut& cut : cuts) predicted += traffic_of(solver.train_net(), cut, 4).activations;
      solver.step(3);
      EXPECT_EQ(solver.model_ranks()->exchanged().bytes, 3 * predicted);
      // 4 samples of 8 x 6 x 6 in, a slice of which goes to each part, and of 16 x 3 x 3 out; and of 12 x 3 x 3 out.
      ASSERT_EQ(cuts.size(), 2u);
      const double b = 2.0 * (count - 1) * 4 * (8 * 36 + 16 * 9) / count * sizeof(float);
      EXPECT_EQ(traffic_of(solver.train_net(), cuts[0], 4).activations, b);
      EXPECT_EQ(predicted - b, 2.0 * (count - 1) * 4 * (16 * 9 + 12.0 * 9 / count) * sizeof(float));
    });
  }
}

TEST_F(CutConvolution, RefusesPartsThatAreNotEqual) {
  const Error error = error_of([] {
    train({.settings = kFixed,
           .layers = convolution("a", "data", parts(0), "num_output: 7 kernel_size: 3") + classifier("a"),
           .ranks = 2});
  });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig) << error.what();
  EXPECT_TRUE(contains(error.what(), "num_output 7 cannot be cut into 2 equal parts (model_parts)")) << error.what();
  EXPECT_TRUE(contains(error.location(), "ranks.prototxt")) << error.what();
}

}  // namespace
}  // namespace robusta::test::cut_convolution_test
