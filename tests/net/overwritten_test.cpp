// Layers whose blob a later layer overwrites in place: backward reads what that one left, as Caffe's does, and the log
// says where it makes a difference. Gradients are those that BVLC's relu_layer.cpp and sigmoid_layer.cpp compute.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/log_lines.h"
#include "support/nets.h"

namespace robusta::test::overwritten_test {
namespace {

const std::vector<float> kX = {-1, -0.5, 0.125, 0.5, 1, 2};

/// A net of x, to which numbers are added that learn, 0 at first, `layers` that lead from there, w, to y, and the sum
/// of y.
std::string net_of(const std::string& layers) {
  return R"(force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } } )"
         R"(layer { name: "shift" type: "Bias" bottom: "x" top: "w" bias_param { axis: 0 num_axes: 2 } }
)" + layers +
         R"(
layer { name: "sum" type: "Reduction" bottom: "y" top: "sum" loss_weight: 1 })";
}

/// The gradient of w, which is that of the numbers.
std::vector<float> gradient(const std::string& layers, const NetOptions& options = {}) {
  Net net(net_def(net_of(layers)), options);
  net.blobs().write("x", kX);
  net.forward({.batch = 2});
  net.backward({.batch = 2}, false);
  return net.blobs().read_param_diff(*net.layer_params("shift")[0]);
}

/// The same of every backend, with memory shared and not, and of the emulated GPU.
void expect_gradient(const std::string& layers, const std::vector<float>& want) {
  for (const char* kernels : {"reference", "native", "onednn", "auto"}) {
    for (const bool keep : {false, true}) {
      NetOptions options;
      options.kernels = kernels;
      options.keep_blobs = keep;
      options.share_memory = !keep;
      SCOPED_TRACE(str(kernels, keep ? ", blobs kept" : ""));
      expect_close(gradient(layers, options), want, 1e-6);
    }
  }
  SimDevice gpu(size_t{8} << 20, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  expect_close(gradient(layers, options), want, 1e-6);
}

std::string warnings(const std::string& layers) {
  const LogLines lines;
  const Net net(net_def(net_of(layers)), {});
  std::string found;
  std::istringstream text(lines.text());
  for (std::string line; std::getline(text, line);) {
    if (contains(line, "no derivative")) found += line + "\n";
  }
  return found;
}

constexpr char kRelu[] = R"(
layer { name: "copy" type: "Power" bottom: "w" top: "y" }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" })";

std::string bias(const char* value) {
  return str(R"(
layer { name: "bias" type: "Bias" bottom: "y" top: "y" bias_param { filler { type: "constant" value: )",
             value, "} } }");
}

TEST(Overwritten, ReluGoesByTheSignOfWhatIsLeft) {
  expect_gradient(kRelu + bias("-0.25"), {0, 0, 0, 1, 1, 1});
  expect_gradient(kRelu + bias("0.25"), {1, 1, 1, 1, 1, 1});
}

TEST(Overwritten, OnlyInPlaceDoesReluReadItsTop) {
  const std::string layers = R"(layer { name: "relu" type: "ReLU" bottom: "w" top: "y" })" + bias("0.25");
  expect_gradient(layers, {0, 0, 1, 1, 1, 1});
  EXPECT_EQ(warnings(layers), "");
}

TEST(Overwritten, ReluWithANegativeSlope) {
  const std::string layers = R"(
layer { name: "copy" type: "Power" bottom: "w" top: "y" }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" relu_param { negative_slope: -0.5 } })" +
                             bias("-0.375");
  expect_gradient(layers, {1, -0.5, -0.5, 1, 1, 1});
}

TEST(Overwritten, SigmoidReadsItsTop) {
  const std::string layers = R"(
layer { name: "sigmoid" type: "Sigmoid" bottom: "w" top: "y" }
layer { name: "twice" type: "Power" bottom: "y" top: "y" power_param { scale: 2 } })";
  std::vector<float> want;
  for (const float x : kX) {
    const float left = 2 / (1 + std::exp(-x));
    want.push_back(2 * left * (1 - left));
  }
  expect_gradient(layers, want);
  EXPECT_NE(warnings(layers), "");
}

TEST(Overwritten, TheLastOfSeveralCounts) {
  expect_gradient(kRelu + bias("0.25") + R"(
layer { name: "less" type: "Power" bottom: "y" top: "y" power_param { shift: -0.5 } })",
                  {0, 0, 0, 1, 1, 1});
}

TEST(Overwritten, ATopOfItsOwnGivesTheDerivative) {
  const std::string layers = R"(
layer { name: "copy" type: "Power" bottom: "w" top: "z" }
layer { name: "relu" type: "ReLU" bottom: "z" top: "z" }
layer { name: "bias" type: "Bias" bottom: "z" top: "y" bias_param { filler { type: "constant" value: 0.25 } } })";
  expect_gradient(layers, {0, 0, 1, 1, 1, 1});
  EXPECT_EQ(warnings(layers), "");
}

TEST(Overwritten, TheLogNamesBothLayersAndTheWayOut) {
  const std::string said = warnings(kRelu + bias("0.25"));
  EXPECT_TRUE(contains(said, ":5: the gradient of layer \"relu\" (ReLU) is no derivative")) << said;
  EXPECT_TRUE(contains(said, "blob \"y\", where layer \"bias\" (Bias), ")) << said;
  EXPECT_TRUE(contains(said, ":6, in place")) << said;
  EXPECT_TRUE(contains(said, "a top of its own")) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

TEST(Overwritten, WhatLeavesTheGradientIsNoMatter) {
  const auto behind_relu = [](const char* layer) { return warnings(std::string(kRelu) + layer); };
  EXPECT_EQ(behind_relu(R"(layer { name: "drop" type: "Dropout" bottom: "y" top: "y" })"), "");
  EXPECT_EQ(behind_relu(R"(layer { name: "again" type: "ReLU" bottom: "y" top: "y" })"), "");
  EXPECT_EQ(behind_relu(R"(layer { name: "half" type: "Power" bottom: "y" top: "y" power_param { scale: 0.5 } })"), "");
  EXPECT_NE(behind_relu(R"(layer { name: "minus" type: "Power" bottom: "y" top: "y" power_param { scale: -1 } })"), "");
  EXPECT_EQ(warnings(R"(
layer { name: "sigmoid" type: "Sigmoid" bottom: "w" top: "y" }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" })"),
            "");
  EXPECT_NE(warnings(R"(
layer { name: "sigmoid" type: "Sigmoid" bottom: "w" top: "y" }
layer { name: "drop" type: "Dropout" bottom: "y" top: "y" })"),
            "");
}

TEST(Overwritten, WithoutBackwardNothingIsSaid) {
  const LogLines lines;
  NetOptions options;
  options.backward = false;
  const Net net(net_def(net_of(kRelu + bias("0.25"))), options);
  EXPECT_FALSE(contains(lines.text(), "no derivative"));
}

}  // namespace
}  // namespace robusta::test::overwritten_test
