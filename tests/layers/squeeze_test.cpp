// Squeeze.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::squeeze_test {
namespace {

KernelCase squeeze(const std::string& param, const Shape& bottom) {
  return {{"type: 'Squeeze' squeeze_param { " + param + " }"}, {bottom}};
}

Shape squeezed(const std::string& param, const Shape& bottom) {
  return KernelHarness(squeeze(param, bottom), {}).top_shapes()[0];
}

TEST(SqueezeTest, Shapes) {
  EXPECT_EQ(squeezed("", {2, 1, 3, 1}), (Shape{2, 3}));
  EXPECT_EQ(squeezed("axis: 1", {2, 1, 3, 1}), (Shape{2, 3, 1}));
  EXPECT_EQ(squeezed("axis: -1 axis: 1", {2, 1, 3, 1}), (Shape{2, 3}));
  EXPECT_EQ(squeezed("", {1, 1}), Shape{});
  EXPECT_EQ(squeezed("", {2, 3}), (Shape{2, 3}));
}

TEST(SqueezeTest, PassesValuesAndGradientsOn) {
  check_gradients(squeeze("", {2, 1, 3, 1}));
  compare_with_reference("reference", squeeze("axis: 1", {2, 1, 3, 1}));
}

TEST(SqueezeTest, Gpu) { compare_gpu_with_reference(squeeze("axis: 2", {2, 3, 1, 4})); }

TEST(SqueezeTest, Errors) {
  expect_config_error(squeeze("axis: 2", {2, 1, 3}), "axis 2 of shape 2 1 3 (6) has 3 entries", "squeeze_param.axis");
  expect_config_error(squeeze("axis: 3", {2, 1, 3}), "axis 3 does not exist", "squeeze_param.axis");
  expect_config_error(squeeze("axis: -2147483648", {2, 1, 3}), "axis -2147483648", "squeeze_param.axis");
}

}  // namespace
}  // namespace robusta::test::squeeze_test
