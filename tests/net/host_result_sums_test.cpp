// Sums that a convolution of the host makes of its results for the BatchNorm which reads them
// (layers/kit/result_sums.h).

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layers/types/convolution/convolution_types.h"
#include "net/net.h"
#include "ops/amx/tile_products.h"
#include "support/nets.h"
#include "support/prefer.h"
#include "support/two_ranks.h"

namespace robusta::test::host_result_sums_test {
namespace {

/// A depthwise convolution behind one of all channels, each with a BatchNorm behind it, as in MobileNet.
const char* const kSeparable = R"(
  layer { name: "in" type: "Input" top: "data" top: "label"
          input_param { shape { dim: 4 dim: 32 dim: 9 dim: 9 } shape { dim: 4 } } }
  layer { name: "c1" type: "Convolution" bottom: "data" top: "c1" convolution_param {
          num_output: 64 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "n1" type: "BatchNorm" bottom: "c1" top: "n1" }
  layer { name: "s1" type: "Scale" bottom: "n1" top: "s1" scale_param { bias_term: true } }
  layer { name: "r1" type: "ReLU" bottom: "s1" top: "r1" }
  layer { name: "c2" type: "Convolution" bottom: "r1" top: "c2" convolution_param {
          num_output: 64 group: 64 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
  layer { name: "n2" type: "BatchNorm" bottom: "c2" top: "n2" }
  layer { name: "end" type: "Pooling" bottom: "n2" top: "end" pooling_param { pool: MAX global_pooling: true } }
  layer { name: "fc" type: "InnerProduct" bottom: "end" top: "fc"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";

/// A residual block in place: the second BatchNorm is computed with the sum, whose other term is one more bottom. One
/// convolution more has results that two layers read, and one channels that are no whole blocks.
const char* const kResidual = R"(
  layer { name: "in" type: "Input" top: "data" top: "label"
          input_param { shape { dim: 4 dim: 32 dim: 9 dim: 9 } shape { dim: 4 } } }
  layer { name: "c1" type: "Convolution" bottom: "data" top: "c1" convolution_param {
          num_output: 64 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "n1" type: "BatchNorm" bottom: "c1" top: "c1" batch_norm_param { sync: true } }
  layer { name: "r1" type: "ReLU" bottom: "c1" top: "c1" }
  layer { name: "c2" type: "Convolution" bottom: "c1" top: "c2" convolution_param {
          num_output: 64 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "n2" type: "BatchNorm" bottom: "c2" top: "c2" }
  layer { name: "sum" type: "Eltwise" bottom: "c1" bottom: "c2" top: "sum" }
  layer { name: "r2" type: "ReLU" bottom: "sum" top: "sum" }
  layer { name: "c3" type: "Convolution" bottom: "sum" top: "c3" convolution_param {
          num_output: 32 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "n3" type: "BatchNorm" bottom: "c3" top: "n3" }
  layer { name: "both" type: "Eltwise" bottom: "c3" bottom: "n3" top: "both" }
  layer { name: "c4" type: "Convolution" bottom: "both" top: "c4" convolution_param {
          num_output: 20 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "n4" type: "BatchNorm" bottom: "c4" top: "c4" }
  layer { name: "end" type: "Pooling" bottom: "c4" top: "end" pooling_param { pool: MAX global_pooling: true } }
  layer { name: "fc" type: "InnerProduct" bottom: "end" top: "fc"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";

struct Passes {
  int summed = 0;
  bool joined = false;  ///< a BatchNorm is computed with the sum behind it
  double loss = 0;
  std::vector<float> statistics, gradients;
};

/// Of convolutions whose kernels have this in their name, where there are such; blobs that are kept are summed again.
Passes run(const char* text, const char* kernels, bool keep_blobs) {
  Prefer tuner(kernels);
  NetOptions options;
  options.precision = DType::kBF16;
  options.tuner = &tuner;
  options.keep_blobs = keep_blobs;
  options.poison = true;
  Net net(net_def(text), options);
  EXPECT_GT(tuner.taken, 0);
  Passes passes;
  for (int pass = 0; pass < 2; ++pass) {
    fill_inputs(net, static_cast<uint64_t>(pass + 1));
    passes.loss = static_cast<double>(run_once(net)[0]);
  }
  for (const Step& step : net.plan().steps) {
    if (step.kind != StepKind::kForward) continue;
    const Unit& unit = net.plan().units[step.unit];
    passes.summed += step.tops.size() > net.graph().nodes[unit.nodes.back()].tops.size();
    const auto is = [&](size_t place, const char* type) {
      return place < unit.nodes.size() && net.graph().nodes[unit.nodes[place]].layer->type() == std::string(type);
    };
    passes.joined |= is(0, "BatchNorm") && is(1, "Eltwise");
  }
  for (const ParamPtr& param : net.params()) {
    const auto numbers = param->statistic ? net.blobs().read_param(*param) : net.blobs().read_param_diff(*param);
    auto& to = param->statistic ? passes.statistics : passes.gradients;
    to.insert(to.end(), numbers.begin(), numbers.end());
  }
  return passes;
}

class HostResultSumsOfBlocks : public testing::Test {
  const amx::PretendThereAreUnits pretend_;
  void SetUp() override {
    if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  }
};

class HostResultSums : public HostResultSumsOfBlocks, public testing::WithParamInterface<const char*> {};

/// The sums are of what is stored, so that only their rounding differs: in `statistics` numbers of them, which come
/// before anything else that differs. `roundings`: of 16 bits, by which gradients do.
void expect_same(const Passes& with, const Passes& without, int summed, size_t statistics, double roundings) {
  EXPECT_EQ(with.summed, summed);
  EXPECT_EQ(without.summed, 0);
  EXPECT_NEAR(with.loss, without.loss, roundings * 0x1p-10 * without.loss);
  ASSERT_EQ(with.statistics.size(), without.statistics.size());
  ASSERT_GE(with.statistics.size(), statistics);
  for (size_t i = 0; i < statistics; ++i) {
    EXPECT_NEAR(with.statistics[i], without.statistics[i], 1e-4f * (std::abs(without.statistics[i]) + 0.1f)) << i;
  }
  double apart = 0, length = 0;
  for (size_t i = 0; i < with.gradients.size(); ++i) {
    apart += std::pow(with.gradients[i] - without.gradients[i], 2);
    length += std::pow(without.gradients[i], 2);
  }
  EXPECT_LT(std::sqrt(apart / length), roundings * 0x1p-8);
}

/// Statistics of 64 channels: means, variances, and how many batches.
constexpr size_t kOfNorm = 2 * 64 + 1;

TEST_P(HostResultSums, AreThoseOfWhatIsRead) {
  expect_same(run(kSeparable, GetParam(), false), run(kSeparable, GetParam(), true), 1, 2 * kOfNorm, 2);
}

TEST_F(HostResultSumsOfBlocks, AreThoseOfWhatIsRead) {
  const Passes with = run(kResidual, "amx:products", false);
  EXPECT_TRUE(with.joined);
  // Of a sum that is kept its terms are rounded, too, and a ReLU lets other gradients pass.
  expect_same(with, run(kResidual, "amx:products", true), 2, 2 * kOfNorm, 32);
}

/// Moments are shared then.
TEST_F(HostResultSumsOfBlocks, ServeSynchronisedRanks) {
  double losses[2];
  for (const bool keep_blobs : {false, true}) {
    Prefer tuner("amx:products");
    Twice ranks;
    NetOptions options;
    options.precision = DType::kBF16;
    options.tuner = &tuner;
    options.keep_blobs = keep_blobs;
    Net net(net_def(kResidual), options);
    fill_inputs(net, 1);
    losses[keep_blobs] = static_cast<double>(net.forward({.batch = 4, .ranks = &ranks}));
    EXPECT_EQ(ranks.sums, 1);
  }
  EXPECT_NEAR(losses[0], losses[1], 4e-3 * losses[1]);
}

INSTANTIATE_TEST_SUITE_P(Kernels, HostResultSums, testing::Values("amx:products", "depthwise:native"));

}  // namespace
}  // namespace robusta::test::host_result_sums_test
