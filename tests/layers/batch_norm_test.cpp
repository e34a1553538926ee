#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test {
namespace {

KernelCase batch_norm(const std::string& fields, const Shape& bottom = {3, 4, 3, 2},
                      caffe::Phase phase = caffe::TRAIN) {
  return {{"type: 'BatchNorm' batch_norm_param { " + fields + " }"}, {bottom}, phase};
}

const std::vector<KernelCase> kCases = {
    batch_norm(""),
    batch_norm("eps: 0.01 moving_average_fraction: 0.9"),
    batch_norm("use_global_stats: true"),
    batch_norm("use_global_stats: false", {5, 4}, caffe::TEST),
    batch_norm("", {3, 4, 3, 2}, caffe::TEST),
    batch_norm("", {2, 3, 2, 3, 2}),
    batch_norm("", {4, 3, 5}),
    batch_norm("", {9}),
    batch_norm("scale_bias: true"),
    batch_norm("scale_bias: true use_global_stats: true"),
    batch_norm("filler { value: 2 } bias_filler { value: 1 }", {6, 3}),
};

TEST(BatchNormTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(BatchNormTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(BatchNormTest, KeepsStatisticsAsCaffe) {
  KernelHarness harness(batch_norm("moving_average_fraction: 0.5", {2, 1, 2}), {});
  harness.forward({{1, 2, 3, 6}}, {{10}, {20}, {4}});
  const Arrays after = harness.params();
  EXPECT_NEAR(after[0][0], 5 + 3, 1e-12);                       // mean 3
  EXPECT_NEAR(after[1][0], 10 + (4 + 1 + 0 + 9) / 3.0, 1e-12);  // unbiased variance
  EXPECT_NEAR(after[2][0], 2 + 1, 1e-12);
}

TEST(BatchNormTest, NoStatisticsYetMeansZeroMeanAndVariance) {
  KernelHarness harness(batch_norm("eps: 0.25", {1, 2}, caffe::TEST), {});
  harness.forward({{1, -3}}, {{5, 5}, {7, 7}, {0}});
  EXPECT_EQ(harness.tops()[0], (Array{2, -6}));
}

TEST(BatchNormTest, DeclaresParameters) {
  const KernelHarness three(batch_norm(""), {}), five(batch_norm("scale_bias: true"), {});
  ASSERT_EQ(three.param_decls().size(), 3u);
  for (const ParamDecl& decl : three.param_decls()) EXPECT_TRUE(decl.statistic);
  EXPECT_EQ(three.param_decls()[2].shape, (Shape{1}));
  ASSERT_EQ(five.param_decls().size(), 5u);
  EXPECT_FALSE(five.param_decls()[3].statistic);
  EXPECT_EQ(five.param_decls()[3].filler->value(), 1);
  EXPECT_EQ(five.param_decls()[4].filler->value(), 0);
}

TEST(BatchNormTest, RefusesBadFields) {
  expect_config_error(batch_norm("eps: -1"), "eps -1 is negative", "batch_norm_param.eps");
  expect_config_error({{"type: 'BatchNorm' param { lr_mult: 0 } param { lr_mult: 2 }"}, {{2, 3}}},
                      "lr_mult 2 for statistic 1", "param.lr_mult");
}

}  // namespace
}  // namespace robusta::test
