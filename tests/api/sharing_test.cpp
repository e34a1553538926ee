// Nets that share parameters, by the public headers alone.

#include <gtest/gtest.h>

#include <algorithm>

#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

std::string line(const std::string& before = "", const std::string& spec = "") {
  return before + R"(
layer { name: "in" type: "Input" top: "x" top: "target" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" )" +
         spec + R"(
  inner_product_param { num_output: 2 bias_term: false weight_filler { type: "gaussian" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" }
)";
}

Net net_of(const std::string& text, bool backward, const Net* share_with = nullptr) {
  NetOptions options;
  options.backward = backward;
  options.share_with = share_with;
  return Net::from_text(text, options, "net");
}

TEST(ApiSharingTest, GradientsThatTheLenderDoesNotHaveAreRefused) {
  const Net lender = net_of(line(), false);
  const Error error = error_of([&] { net_of(line(), true, &lender); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_EQ(error.layer(), "ip");
  EXPECT_TRUE(contains(error.what(), "net:3"));
  EXPECT_NO_THROW(net_of(line("", "param { lr_mult: 0 }"), false, &lender)) << "nor wanted";
}

TEST(ApiSharingTest, GradientsLieWhereTheLenderHasThem) {
  const Net lender = net_of(line(), true);
  Net net = net_of(line(), true, &lender);
  net.write("x", std::vector<float>{1, 2, 3, 4, 5, 6});
  net.forward();
  net.backward();
  const std::vector<float> gradient = lender.read_parameter_gradient("ip", 0);
  EXPECT_EQ(net.read_parameter_gradient("ip", 0), gradient);
  EXPECT_TRUE(std::ranges::any_of(gradient, [](float g) { return g != 0; }));
}

/// What learns is decided by the net that has the parameter: its kernels were chosen for that.
TEST(ApiSharingTest, ABorrowerDoesNotChangeWhatLearns) {
  const std::string fixed = line("", "param { lr_mult: 0 }");
  const Net lender = net_of(fixed, true);
  EXPECT_EQ(error_of([&] { net_of("force_backward: true " + fixed, true, &lender); }).kind(), ErrorKind::kUsage);
  EXPECT_FALSE(lender.parameters()[0].learns);
  EXPECT_NO_THROW(net_of("force_backward: true " + fixed, false, &lender));
  EXPECT_FALSE(lender.parameters()[0].learns);
}

TEST(ApiSharingTest, AnotherElementTypeIsRefused) {
  const Net lender = net_of(line(), true);
  NetOptions options;
  options.dtype = DType::kF64;
  options.share_with = &lender;
  const Error error = error_of([&] { Net::from_text(line(), options); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "f32"));
}

/// oneDNN's kernels keep a copy of their weights in an order of their own.
TEST(ApiSharingTest, WritingThroughAViewReachesTheKernelsOfAllNets) {
  const std::string text =
      R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 8 dim: 9 dim: 9 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "gaussian" } } })";
  Net lender = Net::from_text(text);
  Net net = net_of(text, false, &lender);
  net.write("x", std::vector<float>(648, 1));
  const TensorView weights = lender.parameter_view("conv", 0);
  net.forward();
  std::vector<float> doubled = net.read("y");
  for (float& y : doubled) y *= 2;
  for (float& w : weights.elements<float>()) w *= 2;
  net.forward();
  EXPECT_EQ(net.read("y"), doubled);
}

}  // namespace
}  // namespace robusta::test
