#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::scale_bias_test {
namespace {

KernelCase scale(const std::string& fields, std::vector<Shape> bottoms = {{2, 3, 4, 2}}) {
  return {{"type: 'Scale' scale_param { " + fields + " }"}, bottoms};
}

KernelCase bias(const std::string& fields, std::vector<Shape> bottoms = {{2, 3, 4, 2}}) {
  return {{"type: 'Bias' bias_param { " + fields + " }"}, bottoms};
}

const std::vector<KernelCase> kCases = {
    scale(""),
    scale("bias_term: true"),
    scale("axis: 0 num_axes: 2"),
    scale("axis: 1 num_axes: -1 bias_term: true"),
    scale("axis: -1"),
    scale("num_axes: 0 bias_term: true"),
    scale("", {{2, 3, 4, 2}, {3}}),
    scale("axis: 1 bias_term: true", {{2, 3, 4, 2}, {3, 4}}),
    scale("axis: 0", {{2, 3}, {2, 3}}),
    scale("bias_term: true", {{2, 3}, Shape{}}),
    scale("bias_term: true", {{33, 70}}),
    scale("bias_term: true", {{3, 5, 19, 11}}),
    bias(""),
    bias("axis: 0 num_axes: 2"),
    bias("axis: 2 num_axes: -1"),
    bias("num_axes: 0"),
    bias("", {{2, 3, 4, 2}, {3}}),
    bias("axis: 2", {{2, 3, 4, 2}, {4, 2}}),
    bias("", {{2, 3}, Shape{}}),
    bias("", {{33, 70}}),
};

TEST(ScaleBiasTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(ScaleBiasTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(ScaleBiasTest, Native) {
  for (const KernelCase& c : kCases) compare_with_reference("native", c);
}

TEST(ScaleBiasTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
  compare_gpu_with_reference(scale("bias_term: true", {{1, 2, 95, 97}}));  // runs that are cut into pieces
}

TEST(ScaleBiasTest, FillsScaleWithOnes) {
  const KernelHarness plain(scale("bias_term: true"), {}), filled(scale("filler { value: 3 }"), {});
  EXPECT_EQ(plain.param_decls()[0].filler->value(), 1);
  EXPECT_EQ(plain.param_decls()[1].filler->value(), 0);
  EXPECT_EQ(filled.param_decls()[0].filler->value(), 3);
}

TEST(ScaleBiasTest, RefusesBadAxes) {
  expect_config_error(scale("axis: 4"), "axis 4 does not exist", "scale_param.axis");
  expect_config_error(scale("axis: 2 num_axes: 3"), "num_axes 3 from axis 2", "scale_param.num_axes");
  expect_config_error(scale("num_axes: -2"), "num_axes -2", "scale_param.num_axes");
  expect_config_error(scale("", {{2, 3, 4}, {4}}), "does not match bottom 0");
  expect_config_error(scale("axis: 2", {{2, 3, 4}, {4, 1}}), "does not match bottom 0");
  expect_config_error(bias("axis: -5"), "axis -5 does not exist", "bias_param.axis");
  expect_config_error(bias("", {{2, 3, 4}, {2}}), "does not match bottom 0");
  expect_config_error(bias("filler { type: 'gausian' }"), "\"gaussian\"", "bias_param.filler.type");
}

}  // namespace
}  // namespace robusta::test::scale_bias_test
