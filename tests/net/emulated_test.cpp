// The GPU's kernels in a net, emulated on an accelerator with memory of its own.

#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "net/run/arrays.h"
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

/// A residual block of images of this size whose sum takes `first` and `second`, with `tail` after it.
std::string residual_net(const std::string& first, const std::string& second, const std::string& tail,
                         const std::string& size) {
  return R"(
  layer { name: "in" type: "Input" top: "x" top: "label"
          input_param { shape { dim: 4 dim: 8 )" +
         size + R"( } shape { dim: 4 } } }
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

std::vector<float> run_residual_net(const std::string& text, DType precision, bool fuse, size_t fused) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  options.fuse = fuse;
  options.precision = precision;
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
  // In 16 bits, and in packs, of which backward finds the signs: where eight divide an image.
  for (const auto& [size, precision] :
       {std::pair{"dim: 6 dim: 5", DType::kF32}, std::pair{"dim: 8 dim: 4", DType::kF32},
        std::pair{"dim: 8 dim: 4", DType::kBF16}}) {
    for (const std::string& tail : {relu, leaky, std::string()}) {
      for (const auto& [first, second] : {std::pair{"stem", "conv"}, std::pair{"conv", "stem"}}) {
        const std::string text = residual_net(first, second, tail, size);
        const auto fused = run_residual_net(text, precision, true, tail.empty() ? 3 : 4);
        const auto apart = run_residual_net(text, precision, false, 1);
        const double tolerance = precision == DType::kF32 ? 2e-5 : 0.03;
        ASSERT_EQ(fused.size(), apart.size());
        for (size_t i = 0; i < fused.size(); ++i) {
          ASSERT_NEAR(fused[i], apart[i], tolerance * (1 + std::abs(apart[i]))) << i << first << tail << size;
        }
      }
    }
  }
}

/// Two blocks, so that the first one's result is read by a layer and by the second block's sum.
std::string net_of_two_blocks() {
  const auto block = [](const std::string& name, const std::string& from) {
    return "layer { name: '" + name + "_conv' type: 'Convolution' bottom: '" + from + "' top: '" + name +
           "_conv' convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }\n"
           "layer { name: '" +
           name + "_norm' type: 'BatchNorm' bottom: '" + name + "_conv' top: '" + name + "_conv' }\nlayer { name: '" +
           name + "' type: 'Eltwise' bottom: '" + from + "' bottom: '" + name + "_conv' top: '" + name +
           "' }\nlayer { name: '" + name + "_relu' type: 'ReLU' bottom: '" + name + "' top: '" + name + "' }\n";
  };
  return "layer { name: 'in' type: 'Input' top: 'x' top: 'label' "
         "input_param { shape { dim: 4 dim: 8 dim: 6 dim: 5 } shape { dim: 4 } } }\n"
         "layer { name: 'stem' type: 'Convolution' bottom: 'x' top: 'stem' "
         "convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'msra' } } }\n" +
         block("one", "stem") + block("two", "one") +
         "layer { name: 'fc' type: 'InnerProduct' bottom: 'two' top: 'fc' "
         "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }";
}

size_t backward_steps(const Net& net) { return net.plan().steps.size() - net.plan().backward_begin.index(); }

/// The gradients of a Split's tops are added where the block before it reads them. A gradient that is asked for is
/// there, and then the Split adds: the same numbers in f32, and in 16 bits the sum is rounded.
TEST(Emulated, ABlockAddsTheGradientsThatASplitHandsOn) {
  for (const DType precision : {DType::kF32, DType::kBF16}) {
    std::vector<float> results[2];
    size_t steps[2];
    for (const bool asked : {false, true}) {
      SimDevice gpu(size_t{64} << 20, 0, "emulated");
      NetOptions options;
      options.device = &gpu;
      options.precision = precision;
      options.poison = true;
      if (asked) options.seed_diffs = {"one"};
      Net net(net_def(net_of_two_blocks()), options);
      fill_inputs(net, 1);
      results[asked] = run_once(net);
      steps[asked] = backward_steps(net);
    }
    EXPECT_EQ(steps[0] + 1, steps[1]);
    ASSERT_EQ(results[0].size(), results[1].size());
    const double tolerance = precision == DType::kF32 ? 0 : 0.02;
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_NEAR(results[0][i], results[1][i], tolerance * (1 + std::abs(results[1][i]))) << i;
    }
  }
}

/// What a Concat gives is read by four layers, as in an inception module: their gradients are added while it cuts them.
TEST(Emulated, AConcatAddsTheGradientsThatASplitHandsOn) {
  const auto conv = [](const std::string& name, const std::string& from, int outputs) {
    return str("layer { name: '", name, "' type: 'Convolution' bottom: '", from, "' top: '", name,
               "' convolution_param { num_output: ", outputs, " kernel_size: 1 weight_filler { type: 'msra' } } }\n");
  };
  // Of widths that are whole packs, and of others, which nobody adds on the way.
  for (const auto& [width, plane] : {std::pair{8, "dim: 4 dim: 4"}, std::pair{3, "dim: 3 dim: 1"}}) {
    const std::string text =
        str("layer { name: 'in' type: 'Input' top: 'x' top: 'label' input_param { shape { dim: 2 dim: 8 ", plane,
            " } shape { dim: 2 } } }\n") +
        conv("a", "x", width) + conv("b", "x", 2 * width) +
        "layer { name: 'cat' type: 'Concat' bottom: 'a' bottom: 'b' top: 'cat' }\n" + conv("p", "cat", 8) +
        conv("q", "cat", 8) + conv("r", "cat", 8) +
        "layer { name: 's' type: 'Pooling' bottom: 'cat' top: 's' pooling_param { kernel_size: 1 } }\n"
        "layer { name: 'all' type: 'Concat' bottom: 'p' bottom: 'q' bottom: 'r' bottom: 's' top: 'all' }\n"
        "layer { name: 'fc' type: 'InnerProduct' bottom: 'all' top: 'fc' "
        "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
        "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
    for (const DType precision : {DType::kF32, DType::kBF16, DType::kF16}) {
      std::vector<float> results[2];
      size_t steps[2];
      for (const bool asked : {false, true}) {
        SimDevice gpu(size_t{64} << 20, 0, "emulated");
        NetOptions options;
        options.device = &gpu;
        options.precision = precision;
        options.poison = true;
        if (asked) options.seed_diffs = {"cat"};
        Net net(net_def(text), options);
        fill_inputs(net, 1);
        results[asked] = run_once(net);
        steps[asked] = backward_steps(net);
      }
      EXPECT_EQ(steps[1] - steps[0], width == 8 ? 1u : 0u) << name_of(precision);
      EXPECT_EQ(results[0], results[1]) << width << name_of(precision);
    }
  }
}

/// Copies of weights in 16 bits are made when a pass begins, or by each kernel: the same bits, also when the weights
/// have changed, and over recorded passes.
TEST(Emulated, WeightsArePackedOnceInAPass) {
  std::vector<float> results[2];
  uint64_t kernels[2];
  for (const bool together : {false, true}) {
    SimDevice gpu(size_t{64} << 20, 0, "emulated");
    NetOptions options;
    options.device = &gpu;
    options.precision = DType::kBF16;
    options.poison = true;
    // With large model support there is no memory for it.
    if (!together) options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = size_t{1} << 40};
    Net net(net_def(net_of_two_blocks()), options);
    EXPECT_EQ(net.plan().packed.size(), together ? 4 : 0);
    fill_inputs(net, 1);
    for (int pass = 0; pass < 4; ++pass) {
      const uint64_t before = gpu.kernels();
      const std::vector<float> result = run_once(net);
      results[together].insert(results[together].end(), result.begin(), result.end());
      kernels[together] = gpu.kernels() - before;
      for (const ParamPtr& param : net.params()) {
        std::vector<float> values = read_array(net.stream(), param->tensor());
        for (float& value : values) value *= 1.25f;
        write_array(net.stream(), param->tensor(), values);
      }
    }
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(kernels[1] + 4 + 3 - 1, kernels[0]) << "four forward, three for the bottoms' gradients";
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
