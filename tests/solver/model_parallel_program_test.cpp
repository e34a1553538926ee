// The program `caffe` as ranks under mpirun that cut layers among them.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "solver/process.h"
#include "support/errors.h"

namespace robusta::test::model_parallel_program_test {
namespace {

class ModelParallelProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  }

  /// Trains on two ranks a net of which layers fc6 to fc8 have these fields of the net.
  Finished train(const std::string& fields, int outputs = 6, const std::string& flags = "") {
    const auto inner_product = [](const std::string& name, const std::string& bottom, int number) {
      return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name +
             "' inner_product_param { num_output: " + std::to_string(number) +
             " weight_filler { type: 'xavier' } } }\n";
    };
    write_file(folder_ / "net.prototxt",
               fields +
                   "\nlayer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param {\n"
                   "  shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 }\n"
                   "  data_filler { type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 1 } } }\n"
                   "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {\n"
                   "  num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }\n" +
                   inner_product("fc6", "conv", outputs) +
                   "layer { name: 'drop6' type: 'Dropout' bottom: 'fc6' top: 'fc6' }\n" +
                   inner_product("fc8", "fc6", 4) +
                   "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc8' bottom: 'label' top: 'loss' }\n");
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt' base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 random_seed: 1 display: 1 "
               "max_iter: 4 snapshot_prefix: 'm'");
    return run_ranks(folder_.path(), 2, "train -solver solver.prototxt" + flags);
  }

  static std::vector<double> losses_of(const std::string& log) {
    std::vector<double> losses;
    const std::regex line("Iteration \\d+.*, loss = ([0-9.]+)");
    for (std::sregex_iterator i(log.begin(), log.end(), line), end; i != end; ++i) losses.push_back(std::stod((*i)[1]));
    return losses;
  }

  TempDir folder_;
};

const std::string kAll = "multinode { model_parallel { layer_from: 'fc6' layer_to: 'fc8' } }";

TEST_F(ModelParallelProgram, TrainsAsDataParallelAndSaysWhatItSends) {
  const Finished whole = train(""), cut = train(kAll);
  ASSERT_EQ(whole.code, 0) << whole.log;
  ASSERT_EQ(cut.code, 0) << cut.log;
  const std::vector<double> want = losses_of(whole.log), got = losses_of(cut.log);
  ASSERT_EQ(want.size(), 5u) << whole.log;
  ASSERT_EQ(got.size(), want.size()) << cut.log;
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + want[i])) << "iteration " << i;
  EXPECT_FALSE(contains(whole.log, "Model parallel"));
  // 4 rows of 64 inputs and of 3 of 6 outputs, both ways, in place of 6 x 65 numbers.
  EXPECT_TRUE(
      contains(cut.log,
               "Model parallel: layer \"fc6\" in 2 parts of 3 outputs: a rank sends 2.1 KiB of activations in a "
               "pass and 0 B of gradients in an iteration, data parallel 1.5 KiB"))
      << cut.log;
  EXPECT_TRUE(contains(cut.log, "2 layers are model parallel")) << cut.log;
}

/// A small net over links that are said to be slow, or fast, and over those that are there.
TEST_F(ModelParallelProgram, FitsCutsToLinks) {
  const Finished whole = train("", 600), slow = train("", 600, " -ddl \"-fit 0.001:10\""),
                 fast = train("", 600, " -ddl \"-fit 100:50\""), measured = train("", 600, " -ddl \"-fit auto\"");
  const std::vector<double> want = losses_of(whole.log);
  ASSERT_EQ(want.size(), 5u) << whole.log;
  for (const Finished& fitted : {slow, fast, measured}) {
    ASSERT_EQ(fitted.code, 0) << fitted.log;
    EXPECT_TRUE(contains(fitted.log, "Fit: a sum over all ranks")) << fitted.log;
    EXPECT_TRUE(contains(fitted.log, "Fit: An iteration is foretold to take")) << fitted.log;
    const std::vector<double> got = losses_of(fitted.log);
    ASSERT_EQ(got.size(), want.size()) << fitted.log;
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + want[i])) << "iteration " << i;
  }
  EXPECT_TRUE(contains(slow.log, "Model parallel: layer \"fc6\" in 2 parts of 300 outputs")) << slow.log;
  EXPECT_FALSE(contains(fast.log, "Model parallel")) << fast.log;
}

TEST_F(ModelParallelProgram, RefusesPartsThatAreNotEqualOnce) {
  const Finished done = train(kAll, 5);
  EXPECT_EQ(done.code, 2) << done.log;
  const std::string error = "net.prototxt:7: layer \"fc6\": num_output 5 cannot be cut into 2 equal parts";
  EXPECT_TRUE(contains(done.log, error)) << done.log;
  EXPECT_EQ(done.log.find(error), done.log.rfind(error)) << done.log;
}

}  // namespace
}  // namespace robusta::test::model_parallel_program_test
