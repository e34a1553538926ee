// Inputs of other shapes, by the public headers alone.

#include <gtest/gtest.h>

#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// Shapes of x and target have to agree.
const std::string kLine =
    R"(layer { name: "in" type: "Input" top: "x" top: "target" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 2 weight_filler { type: "gaussian" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" }
)";

Net line_net() {
  Net net = Net::from_text(kLine);
  net.write("x", std::vector<float>{1, 2, 3, 4, 5, 6});
  net.write("target", std::vector<float>{2, 3, 4, 9});
  return net;
}

TEST(ApiReshapeTest, SeveralInputsTakeOtherShapesAtOnce) {
  Net net = line_net();
  EXPECT_EQ(error_of([&] { net.reshape("x", {4, 3}); }).kind(), ErrorKind::kConfig) << "alone it does not fit";
  net.reshape({{"x", {4, 3}}, {"target", {4, 2}}});
  EXPECT_EQ(net.shape("y"), (Shape{4, 2}));
  EXPECT_EQ(net.batch(), 4);
  net.write("x", std::vector<float>(12));
  net.write("target", std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(net.forward(), 8 / (2.0 * 4));
  net.reshape({{"target", {2, 2}}, {"x", {2, 3}}});
  EXPECT_EQ(net.shape("y"), (Shape{2, 2}));
}

TEST(ApiReshapeTest, WhatIsRefusedChangesNothing) {
  Net net = line_net();
  const double loss = net.forward();
  EXPECT_EQ(error_of([&] { net.reshape({{"x", {4, 3}}, {"target", {3, 2}}}); }).kind(), ErrorKind::kConfig);
  EXPECT_EQ(error_of([&] { net.reshape({{"x", {4, 3}}, {"y", {4, 2}}}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.reshape({{"x", {4, 3}}, {"tarjet", {4, 2}}}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.reshape("x", {-1, 3}); }).kind(), ErrorKind::kConfig);
  EXPECT_EQ(net.shape("x"), (Shape{2, 3}));
  EXPECT_EQ(net.shape("target"), (Shape{2, 2}));
  EXPECT_DOUBLE_EQ(net.forward(), loss) << "the inputs hold what they held";
}

}  // namespace
}  // namespace robusta::test
