// Reshape, Flatten and Silence.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::reshape_flatten_test {
namespace {

KernelCase reshape(const std::string& param, const Shape& bottom) {
  return {{"type: 'Reshape' reshape_param { " + param + " }"}, {bottom}};
}

KernelCase flatten(const std::string& param, const Shape& bottom) {
  return {{"type: 'Flatten' flatten_param { " + param + " }"}, {bottom}};
}

Shape top_of(const KernelCase& what) { return KernelHarness(what, {}).top_shapes()[0]; }

TEST(ReshapeTest, Shapes) {
  const Shape bottom{2, 3, 4, 5};
  EXPECT_EQ(top_of(reshape("shape { dim: 0 dim: -1 }", bottom)), (Shape{2, 60}));
  EXPECT_EQ(top_of(reshape("shape { dim: 0 dim: 0 dim: 20 }", bottom)), (Shape{2, 3, 20}));
  EXPECT_EQ(top_of(reshape("shape { dim: -1 } axis: 1 num_axes: 2", bottom)), (Shape{2, 12, 5}));
  EXPECT_EQ(top_of(reshape("shape { dim: 1 dim: 1 } axis: 1 num_axes: 0", bottom)), (Shape{2, 1, 1, 3, 4, 5}));
  EXPECT_EQ(top_of(reshape("shape { dim: 1 } axis: -1 num_axes: 0", bottom)), (Shape{2, 3, 4, 5, 1}));
  EXPECT_EQ(top_of(reshape("shape { dim: 0 dim: 2 dim: 2 } axis: 1", {2, 3, 4})), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(top_of(reshape("shape { }", {1, 1})), (Shape{}));
}

TEST(ReshapeTest, PassesValuesAndGradientsOn) {
  check_gradients(reshape("shape { dim: 0 dim: -1 }", {2, 3, 4}));
  compare_with_reference("reference", reshape("shape { dim: -1 dim: 3 }", {2, 3, 4}));
  compare_with_reference("reference", reshape("shape { dim: -1 dim: 3 }", {2, 3, 20000}));
}

TEST(ReshapeTest, Gpu) {
  compare_gpu_with_reference(reshape("shape { dim: -1 dim: 3 }", {2, 3, 4}));
  compare_gpu_with_reference(reshape("shape { dim: 0 dim: 0 dim: 4 dim: 5 }", {2, 3, 20}));
}

TEST(ReshapeTest, Errors) {
  const Shape bottom{2, 3, 4};
  expect_config_error(reshape("shape { dim: -1 dim: -1 }", bottom), "only one dim", "reshape_param.shape");
  expect_config_error(reshape("shape { dim: -2 }", bottom), "dim -2", "reshape_param.shape");
  expect_config_error(reshape("shape { dim: 5 dim: -1 }", bottom), "24 elements", "reshape_param.shape");
  expect_config_error(reshape("shape { dim: 5 dim: 5 }", bottom), "24 elements", "reshape_param.shape");
  expect_config_error(reshape("shape { dim: 2 dim: 3 dim: 4 dim: 0 }", bottom), "no axis 3", "reshape_param.shape");
  expect_config_error(reshape("axis: 4", bottom), "axis 4", "reshape_param.axis");
  expect_config_error(reshape("axis: -5", bottom), "axis -5", "reshape_param.axis");
  expect_config_error(reshape("axis: 1 num_axes: 3", bottom), "num_axes 3", "reshape_param.num_axes");
  expect_config_error(reshape("num_axes: -2", bottom), "num_axes -2", "reshape_param.num_axes");
}

TEST(FlattenTest, Shapes) {
  const Shape bottom{2, 3, 4, 5};
  EXPECT_EQ(top_of(flatten("", bottom)), (Shape{2, 60}));
  EXPECT_EQ(top_of(flatten("axis: 2", bottom)), (Shape{2, 3, 20}));
  EXPECT_EQ(top_of(flatten("axis: 1 end_axis: -2", bottom)), (Shape{2, 12, 5}));
  EXPECT_EQ(top_of(flatten("axis: 0 end_axis: 0", bottom)), bottom);
}

TEST(FlattenTest, PassesValuesAndGradientsOn) {
  check_gradients(flatten("", {2, 3, 4}));
  compare_with_reference("reference", flatten("", {2, 3, 4}));
}

TEST(FlattenTest, Gpu) { compare_gpu_with_reference(flatten("", {2, 3, 4})); }

TEST(FlattenTest, Errors) {
  expect_config_error(flatten("axis: 2 end_axis: 1", {2, 3, 4}), "before axis", "flatten_param.end_axis");
  expect_config_error(flatten("axis: 3", {2, 3, 4}), "axis 3", "flatten_param.axis");
  expect_config_error(flatten("end_axis: 3", {2, 3, 4}), "axis 3", "flatten_param.end_axis");
}

TEST(SilenceTest, GradientIsZero) {
  KernelCase what{{"type: 'Silence'"}, {{2, 3}, {4}}};
  what.tops = 0;
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(what, {.backend = backend});
    EXPECT_TRUE(harness.top_shapes().empty());
    harness.forward({{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}});
    harness.backward({});
    EXPECT_EQ(harness.bottom_diffs(), (Arrays{Array(6, 0.0), Array(4, 0.0)}));
  }
}

}  // namespace
}  // namespace robusta::test::reshape_flatten_test
