// Convolutions of nets that only run forward, with the sum at the end of a residual block and the ReLU after it: fused
// or layer by layer they compute the same, by each algorithm that is offered.

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/types/convolution/convolution_types.h"
#include "net/net.h"
#include "support/close.h"
#include "support/nets.h"
#include "support/prefer.h"

namespace robusta::test::residual_inference_test {
namespace {

struct Block {
  std::string convolution;                              ///< fields of the second one, whose result is added
  std::string terms = "bottom: 'short' bottom: 'res'";  ///< of the sum
  std::string after = "";                               ///< layers between the second convolution and the sum, of 'res'
  std::string eltwise = "";                             ///< fields of the sum
  std::string reader = "";                              ///< one more layer, of any blob
  int64_t size = 9;
};

std::string text_of(const Block& block) {
  const std::string size = std::to_string(block.size);
  return R"(layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 64 dim: )" + size +
         " dim: " + size + R"( } } }
    layer { name: 'short' type: 'Convolution' bottom: 'x' top: 'short' convolution_param {
            num_output: 64 kernel_size: 1 weight_filler { type: 'msra' } } }
    layer { name: 'res' type: 'Convolution' bottom: 'x' top: 'res' convolution_param { num_output: 64 )" +
         block.convolution + R"( weight_filler { type: 'msra' } bias_filler { type: 'uniform' } } })" + block.after +
         " layer { name: 'sum' type: 'Eltwise' top: 'sum' " + block.terms + " eltwise_param { " + block.eltwise +
         " } } layer { name: 'relu' type: 'ReLU' bottom: 'sum' top: 'sum' } " + block.reader;
}

/// What the net gives, before and after its parameters are doubled. `fused`: how many layers one kernel should compute
/// from the second convolution on; 0: layer by layer.
std::vector<float> run(const Block& block, size_t fused, Tuner* tuner = nullptr, DType precision = DType::kF32) {
  NetOptions options;
  options.precision = precision;
  options.phase = caffe::TEST;
  options.backward = false;
  options.fuse = fused > 0;
  options.tuner = tuner;
  options.poison = true;
  Net net(net_def(text_of(block), caffe::TEST), options);
  for (const Unit& unit : net.plan().units) {
    if (net.graph().nodes[unit.nodes[0]].layer->name() != "res") continue;
    EXPECT_EQ(unit.nodes.size(), std::max<size_t>(fused, 1));
  }
  fill_inputs(net, 1);
  std::vector<float> all = run_once(net);
  for (const ParamPtr& param : net.params()) {
    std::vector<float> values = net.blobs().read_param(*param);
    for (float& value : values) value *= 2;
    net.blobs().write_param(*param, values);
  }
  const std::vector<float> doubled = run_once(net);
  all.insert(all.end(), doubled.begin(), doubled.end());
  return all;
}

void compare(const Block& block, size_t fused) {
  SCOPED_TRACE(text_of(block));
  const std::vector<float> apart = run(block, 0);
  for (const char* way : {"jit", "winograd", "pointwise"}) {
    SCOPED_TRACE(way);
    Prefer tuner(way);
    expect_close(run(block, fused, &tuner), apart, 2e-4);
  }
}

const char* const kNorm = R"(layer { name: 'bn' type: 'BatchNorm' bottom: 'res' top: 'res' }
    layer { name: 'scale' type: 'Scale' bottom: 'res' top: 'res' scale_param { bias_term: true } })";

TEST(ResidualInference, SumAndReluInTheConvolution) {
  for (const char* convolution : {"kernel_size: 1", "kernel_size: 3 pad: 1", "kernel_size: 5 pad: 2",
                                  "kernel_size: 3 pad: 1 group: 2", "kernel_size: 3 pad: 1 bias_term: false"}) {
    for (const char* terms : {"bottom: 'short' bottom: 'res'", "bottom: 'res' bottom: 'short'"}) {
      compare({.convolution = convolution, .terms = terms}, 3);
    }
    compare({.convolution = convolution, .after = kNorm}, 5);
  }
}

/// What was packed while ways were timed is not taken for a later net's, whose memory may be the same.
TEST(ResidualInference, ForgetsTheWeightsOfTheTrial) {
  const Block block{.convolution = "kernel_size: 3 pad: 1 group: 2", .after = kNorm};
  for (const char* way : {"jit", "winograd"}) {
    Prefer tuner(way);
    expect_close(run(block, 5, &tuner), run(block, 0), 2e-4);
  }
}

/// With more tiles than transformed filters are kept for.
TEST(ResidualInference, LargeImages) { compare({.convolution = "kernel_size: 3 pad: 1", .size = 70}, 3); }

/// Then the result cannot take the memory of what is added.
TEST(ResidualInference, TermsThatOthersReadLater) {
  compare({.convolution = "kernel_size: 3 pad: 1",
           .reader = "layer { name: 'late' type: 'Eltwise' bottom: 'sum' bottom: 'short' top: 'late' }"},
          3);
  compare({.convolution = "kernel_size: 1", .terms = "bottom: 'x' bottom: 'res'"}, 3);
}

TEST(ResidualInference, InSixteenBits) {
  if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  for (const char* convolution : {"kernel_size: 1", "kernel_size: 3 pad: 1"}) {
    const Block block{.convolution = convolution};
    expect_close(run(block, 3, nullptr, DType::kBF16), run(block, 0), 0.02);
  }
}

TEST(ResidualInference, LeavesOtherSumsToOthers) {
  compare({.convolution = "kernel_size: 1", .eltwise = "coeff: 1 coeff: -1"}, 1);
  compare({.convolution = "kernel_size: 1", .eltwise = "operation: MAX"}, 1);
  compare({.convolution = "kernel_size: 1", .terms = "bottom: 'short' bottom: 'res' bottom: 'x'"}, 1);
}

TEST(ResidualInference, NotWhereGradientsAreWanted) {
  Net net(net_def(text_of({.convolution = "kernel_size: 1"}) +
                  " layer { name: 'loss' type: 'EuclideanLoss' bottom: 'sum' bottom: 'x' top: 'loss' }"),
          {});
  for (const Unit& unit : net.plan().units) {
    EXPECT_TRUE(net.graph().nodes[unit.nodes[0]].layer->name() != "res" || unit.nodes.size() == 1);
  }
}

}  // namespace
}  // namespace robusta::test::residual_inference_test
