// The GPU's kernels in a net, emulated on an accelerator with memory of its own.

#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

const char* const kLosses = R"(
  layer { name: "in" type: "Input" top: "x" top: "label" input_param { shape { dim: 4 dim: 5 } shape { dim: 4 } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "label" top: "loss" include { phase: TRAIN } }
  layer { name: "accuracy" type: "Accuracy" bottom: "x" bottom: "label" top: "share" include { phase: TEST } })";

TEST(Emulated, AgreesWithTheHost) {
  std::vector<float> results[2];
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  Device* const devices[2] = {&cpu_device(), &gpu};
  for (int i = 0; i < 2; ++i) {
    NetOptions options;
    options.device = devices[i];
    Net net(net_def(kBranchyNet), options);
    fill_inputs(net, 1);
    results[i] = run_once(net);
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_NEAR(results[0][i], results[1][i], 1e-5 * (1 + std::abs(results[0][i]))) << i;
  }
}

/// A residual block whose sum takes `first` and `second`, with `tail` after it.
std::string residual_net(const std::string& first, const std::string& second, const std::string& tail) {
  return R"(
  layer { name: "in" type: "Input" top: "x" top: "label"
          input_param { shape { dim: 4 dim: 8 dim: 6 dim: 5 } shape { dim: 4 } } }
  layer { name: "stem" type: "Convolution" bottom: "x" top: "stem"
          convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "conv" type: "Convolution" bottom: "stem" top: "conv"
          convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
  layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
  layer { name: "scale" type: "Scale" bottom: "conv" top: "conv"
          scale_param { bias_term: true filler { value: 0.7 } bias_filler { value: 0.2 } } }
  layer { name: "sum" type: "Eltwise" bottom: ")" +
         first + "\" bottom: \"" + second + R"(" top: "sum" })" + tail + R"(
  layer { name: "fc" type: "InnerProduct" bottom: "sum" top: "fc"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";
}

std::vector<float> run_residual_net(const std::string& text, bool fuse, size_t fused) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  options.fuse = fuse;
  Net net(net_def(text), options);
  for (const Unit& unit : net.plan().units) {
    const bool here = net.graph().nodes[unit.nodes[0]].layer->name() == "norm";
    EXPECT_TRUE(!here || unit.nodes.size() == fused) << unit.nodes.size();
  }
  fill_inputs(net, 1);
  return run_once(net);
}

TEST(Emulated, TheSumOfAResidualBlockJoinsTheBatchNorm) {
  const std::string relu = R"(layer { name: "relu" type: "ReLU" bottom: "sum" top: "sum" })";
  const std::string leaky =
      R"(layer { name: "relu" type: "ReLU" bottom: "sum" top: "sum" relu_param { negative_slope: 0.25 } })";
  for (const std::string& tail : {relu, leaky, std::string()}) {
    for (const auto& [first, second] : {std::pair{"stem", "conv"}, std::pair{"conv", "stem"}}) {
      const std::string text = residual_net(first, second, tail);
      const auto fused = run_residual_net(text, true, tail.empty() ? 3 : 4);
      const auto apart = run_residual_net(text, false, 1);
      ASSERT_EQ(fused.size(), apart.size());
      for (size_t i = 0; i < fused.size(); ++i) {
        ASSERT_NEAR(fused[i], apart[i], 2e-5 * (1 + std::abs(apart[i]))) << i << first << tail;
      }
    }
  }
}

TEST(Emulated, LabelOutOfRangeEndsThePass) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    SimDevice gpu(size_t{1} << 20, 0, "emulated");
    NetOptions options;
    options.device = &gpu;
    options.phase = phase;
    options.backward = phase == caffe::TRAIN;
    Net net(net_def(kLosses, phase), options);
    const Pass pass{.first_sample = 80, .next_sample = 84, .batch = 4};
    fill_inputs(net, 1);
    EXPECT_NO_THROW(net.forward(pass));
    net.blobs().write("label", {0, 1, 5, 2});
    const Error error = error_of([&] { net.forward(pass); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_TRUE(contains(error.what(), "label 5 at sample 82 is out of range 0..4"));
    EXPECT_TRUE(contains(error.what(), phase == caffe::TRAIN ? "\"loss\"" : "\"accuracy\""));
    net.blobs().write("label", {0, 1, 4, 2});
    EXPECT_NO_THROW(net.forward(pass));
  }
}

}  // namespace
}  // namespace robusta::test
