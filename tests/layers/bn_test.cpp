// BN, of SegNet, PSPNet and caffe-windows.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::bn_test {
namespace {

KernelCase bn(const std::string& fields, const Shape& bottom = {3, 4, 3, 2}, caffe::Phase phase = caffe::TRAIN) {
  return {{"type: 'BN' bn_param { " + fields + " }"}, {bottom}, phase};
}

const std::vector<KernelCase> kCases = {
    bn(""),
    bn("bn_mode: LEARN", {2, 8, 4, 4}, caffe::TEST),
    bn("bn_mode: INFERENCE", {2, 3, 5}),
    bn("eps: 0.01 momentum: 0.5"),
    bn("eps: 0.01", {2, 8, 4, 4}, caffe::TEST),
    bn("frozen: true", {4, 5}),
    bn("var_eps: 0.01"),
    bn("var_eps: 0.01 moving_average: false", {2, 3, 4}, caffe::TEST),
    bn("decay: 0.5 var_eps: 0.1", {2, 3, 4}, caffe::TEST),
};

double root(double x) { return std::sqrt(x); }

TEST(BnTest, SegNetsNormalisesByTheBatchAndScales) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    KernelHarness harness(bn("", {2, 1, 1}, phase), {});
    harness.forward({{1, 5}}, {{10}, {3}});
    EXPECT_NEAR(harness.tops()[0][0], -7, 1e-6);
    EXPECT_NEAR(harness.tops()[0][1], 13, 1e-6);
  }
}

TEST(BnTest, SegNetsHasTheStatisticsInItsScaleWhenInferring) {
  KernelHarness harness(bn("bn_mode: INFERENCE", {1, 2, 2}), {});
  harness.forward({{1, 2, 3, 4}}, {{10, 100}, {5, 6}});
  EXPECT_EQ(harness.tops()[0], (Array{15, 25, 306, 406}));
  EXPECT_EQ(harness.param_decls().size(), 2u);
}

TEST(BnTest, PspNetsKeepsRunningMeans) {
  KernelHarness harness(bn("momentum: 0.75 eps: 1", {2, 1, 1}), {});
  harness.forward({{1, 5}}, {{1}, {0}, {10}, {20}});
  EXPECT_NEAR(harness.tops()[0][1], 2 / root(5), 1e-12);  // variance 4, eps 1
  EXPECT_NEAR(harness.params()[2][0], 0.75 * 10 + 0.25 * 3, 1e-6);
  EXPECT_NEAR(harness.params()[3][0], 0.75 * 20 + 0.25 * 4, 1e-6);
}

TEST(BnTest, PspNetsTestsByThem) {
  KernelHarness harness(bn("eps: 1", {2, 1, 1}, caffe::TEST), {});
  harness.forward({{1, 5}}, {{2}, {7}, {4}, {3}});
  EXPECT_EQ(harness.tops()[0], (Array{4, 8}));
  EXPECT_EQ(harness.params()[2][0], 4);
}

TEST(BnTest, WhatIsFrozenLearnsNothing) {
  const KernelHarness frozen(bn("frozen: true"), {}), free(bn("frozen: false"), {});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(frozen.param_decls()[i].statistic) << i;
    EXPECT_EQ(free.param_decls()[i].statistic, i >= 2) << i;
  }
  EXPECT_EQ(frozen.param_decls()[3].filler->value(), 1);
  EXPECT_EQ(free.param_decls()[3].filler->value(), 0);
}

TEST(BnTest, CaffeWindowsDecaysTheOtherWayRound) {
  KernelHarness harness(bn("decay: 0.25", {2, 1, 1}), {});
  harness.forward({{1, 5}}, {{1}, {0}, {10}, {20}});
  EXPECT_NEAR(harness.params()[2][0], 0.75 * 10 + 0.25 * 3, 1e-6);
}

TEST(BnTest, DeclaresWhatFilesHold) {
  const KernelHarness harness(bn("slope_filler { value: 2 } bias_filler { value: 3 }"), {});
  ASSERT_EQ(harness.param_decls().size(), 4u);
  EXPECT_EQ(harness.param_decls()[0].shape, (Shape{1, 4, 1, 1}));
  EXPECT_EQ(harness.param_decls()[0].filler->value(), 2);
  EXPECT_EQ(harness.param_decls()[1].filler->value(), 3);
  EXPECT_EQ(KernelHarness(bn(""), {}).param_decls()[0].filler->value(), 1);
}

TEST(BnTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(BnTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(BnTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(BnTest, Errors) {
  expect_config_error(bn("momentum: 1.5"), "momentum is 1.5", "bn_param.momentum");
  expect_config_error(bn("decay: nan"), "decay is", "bn_param.decay");
  expect_config_error(bn("eps: -1"), "eps is -1", "bn_param.eps");
  expect_config_error(bn("bn_mode: LEARN eps: 1"), "bn_mode and eps belong to the BN of different Caffes",
                      "bn_param.eps");
  expect_config_error(bn("momentum: 0.5 decay: 0.5"), "momentum and decay belong", "bn_param.decay");
  expect_config_error(bn("", {3}), "takes an input of batch, channels");
  expect_config_error(bn("slope_filler { type: 'nothing' }"), "", "bn_param.slope_filler.type");
}

}  // namespace
}  // namespace robusta::test::bn_test
