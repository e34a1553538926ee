// The sum and the ReLU at the end of a residual block are computed with the BatchNorm before them on the host, too, and
// the gradients of what repeats their result are added there.

#include <gtest/gtest.h>

#include "base/str.h"
#include "net/net.h"
#include "support/close.h"
#include "support/nets.h"

namespace robusta::test::joined_norm_test {
namespace {

std::string conv_and_norm(const std::string& name, const std::string& from, bool scale = true) {
  std::string text =
      str("layer { name: '", name, "' type: 'Convolution' bottom: '", from, "' top: '", name,
          "' convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }\n",
          "layer { name: 'norm_", name, "' type: 'BatchNorm' bottom: '", name, "' top: '", name, "' }\n");
  if (scale) {
    text += str("layer { name: 'scale_", name, "' type: 'Scale' bottom: '", name, "' top: '", name,
                "' scale_param { bias_term: true filler { value: 0.7 } bias_filler { value: 0.2 } } }\n");
  }
  return text;
}

std::string sum(const std::string& name, const std::string& one, const std::string& other, const std::string& relu,
                const std::string& settings = "") {
  std::string text = str("layer { name: '", name, "' type: 'Eltwise' bottom: '", one, "' bottom: '", other, "' top: '",
                         name, "' ", settings, " }\n");
  if (relu != "none") {
    text += str("layer { name: 'relu_", name, "' type: 'ReLU' bottom: '", name, "' top: '", name, "' relu_param { ",
                relu, " } }\n");
  }
  return text;
}

/// A block with a projection, one without, and the end of the net.
std::string net_text(const std::string& relu, bool scale = true, const std::string& settings = "") {
  return "layer { name: 'in' type: 'Input' top: 'x' top: 'label' input_param { shape { dim: 4 dim: 3 dim: 9 dim: 7 } "
         "shape { dim: 4 } } }\n" +
         conv_and_norm("stem", "x") + conv_and_norm("short", "stem", scale) + conv_and_norm("long", "stem", scale) +
         sum("first", "short", "long", relu, settings) + conv_and_norm("next", "first") +
         sum("second", "next", "first", relu, settings) +
         "layer { name: 'fc' type: 'InnerProduct' bottom: 'second' top: 'fc' "
         "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n";
}

struct Passes {
  std::vector<float> numbers;  ///< of two passes
  size_t joined = 0;           ///< units that end with a sum, or with the ReLU after it, and begin with a BatchNorm
  size_t splits = 0;           ///< steps that add gradients up
};

Passes run(const std::string& text, bool fuse, DType precision = DType::kF32) {
  NetOptions options;
  options.fuse = fuse;
  options.precision = precision;
  options.poison = true;
  Net net(net_def(text), options);
  Passes result;
  const auto layer_of = [&](NodeId node) -> const Layer& { return *net.graph().nodes[node].layer; };
  for (const Unit& unit : net.plan().units) {
    if (layer_of(unit.nodes[0]).type() != "BatchNorm") continue;
    for (const NodeId node : unit.nodes) result.joined += layer_of(node).type() == "Eltwise" ? 1 : 0;
  }
  for (const Step& step : net.plan().steps) {
    const Node& node = net.graph().nodes[net.plan().units[step.unit].nodes[0]];
    result.splits += step.kind == StepKind::kBackward && node.layer->type() == "Split" ? 1 : 0;
  }
  for (int pass = 0; pass < 2; ++pass) {
    fill_inputs(net, static_cast<uint64_t>(pass + 1));
    const std::vector<float> numbers = run_once(net);
    result.numbers.insert(result.numbers.end(), numbers.begin(), numbers.end());
  }
  return result;
}

TEST(JoinedNorm, TakesTheSumAndTheRelu) {
  for (const std::string relu : {"", "none", "negative_slope: 0.25"}) {
    for (const bool scale : {true, false}) {
      SCOPED_TRACE(relu + (scale ? " with" : " without") + " a Scale");
      const std::string text = net_text(relu, scale);
      const Passes joined = run(text, true), apart = run(text, false);
      EXPECT_EQ(joined.joined, 2u);
      EXPECT_EQ(apart.joined, 0u);
      expect_close(joined.numbers, apart.numbers, 1e-4);
    }
  }
}

TEST(JoinedNorm, AddsTheGradientsOfItsResult) {
  EXPECT_LT(run(net_text(""), true).splits, run(net_text(""), false).splits);
}

TEST(JoinedNorm, LeavesOtherSums) {
  const std::string weighted = "eltwise_param { coeff: 1 coeff: 0.5 }", largest = "eltwise_param { operation: MAX }";
  for (const std::string& settings : {weighted, largest}) {
    const Passes joined = run(net_text("", true, settings), true);
    EXPECT_EQ(joined.joined, 0u);
    expect_close(joined.numbers, run(net_text("", true, settings), false).numbers, 1e-4);
  }
}

/// The result does not say which side of zero its argument was on.
TEST(JoinedNorm, LeavesAReluThatHidesTheSign) {
  const std::string text = net_text("negative_slope: -0.5");
  const Passes joined = run(text, true);
  EXPECT_EQ(joined.joined, 2u);
  expect_close(joined.numbers, run(text, false).numbers, 1e-4);
}

/// Where the processor has no bf16, both are in f32.
TEST(JoinedNorm, InSixteenBits) {
  const Passes joined = run(net_text("negative_slope: 0.9"), true, DType::kBF16);
  EXPECT_EQ(joined.joined, 2u);
  expect_close(joined.numbers, run(net_text("negative_slope: 0.9"), false, DType::kBF16).numbers, 0.03);
}

}  // namespace
}  // namespace robusta::test::joined_norm_test
