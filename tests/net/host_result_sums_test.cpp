// Sums that a convolution of the host makes of its results for the BatchNorm which reads them
// (layers/kit/result_sums.h).

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "layers/types/convolution/convolution_types.h"
#include "net/net.h"
#include "ops/amx/tile_products.h"
#include "support/nets.h"
#include "support/prefer.h"

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

struct Passes {
  int summed = 0;
  double loss = 0;
  std::vector<float> statistics, gradients;
};

/// Of convolutions whose kernels have this in their name, where there are such; blobs that are kept are summed again.
Passes run(const char* kernels, bool keep_blobs) {
  Prefer tuner(kernels);
  NetOptions options;
  options.precision = DType::kBF16;
  options.tuner = &tuner;
  options.keep_blobs = keep_blobs;
  options.poison = true;
  Net net(net_def(kSeparable), options);
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
  }
  for (const ParamPtr& param : net.params()) {
    const auto numbers = param->statistic ? net.blobs().read_param(*param) : net.blobs().read_param_diff(*param);
    auto& to = param->statistic ? passes.statistics : passes.gradients;
    to.insert(to.end(), numbers.begin(), numbers.end());
  }
  return passes;
}

class HostResultSums : public testing::TestWithParam<const char*> {
  const amx::PretendThereAreUnits pretend_;
  void SetUp() override {
    if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  }
};

/// The sums are of what is stored, so that only their rounding differs.
TEST_P(HostResultSums, AreThoseOfWhatIsRead) {
  const Passes with = run(GetParam(), false), without = run(GetParam(), true);
  EXPECT_EQ(with.summed, 1);
  EXPECT_EQ(without.summed, 0);
  EXPECT_NEAR(with.loss, without.loss, 1e-3 * without.loss);
  ASSERT_EQ(with.statistics.size(), without.statistics.size());
  for (size_t i = 0; i < with.statistics.size(); ++i) {
    EXPECT_NEAR(with.statistics[i], without.statistics[i], 1e-4f * (std::abs(without.statistics[i]) + 0.1f)) << i;
  }
  double apart = 0, length = 0;
  for (size_t i = 0; i < with.gradients.size(); ++i) {
    apart += std::pow(with.gradients[i] - without.gradients[i], 2);
    length += std::pow(without.gradients[i], 2);
  }
  EXPECT_LT(std::sqrt(apart / length), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Kernels, HostResultSums, testing::Values("amx:products", "depthwise:native"));

}  // namespace
}  // namespace robusta::test::host_result_sums_test
