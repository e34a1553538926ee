// Mul.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::mul_test {
namespace {

KernelCase product(const Shape& a, const Shape& b) { return {{"type: 'Mul'"}, {a, b}}; }

KernelCase by_parameter(const std::string& shape, const Shape& bottom) {
  return {{"type: 'Mul' mul_param { " + shape + " }"}, {bottom}};
}

const KernelCase kProducts[] = {
    product({2, 3, 4}, {2, 3, 4}),
    product({2, 3, 4}, {3, 1}),
    product({3, 1, 4}, {2, 3, 5, 1}),
    product({4}, {2, 3, 4}),
    product({2, 3}, {}),
    product({}, {2, 3}),
    product({1}, {1}),
    by_parameter("mul_shape: 3 mul_shape: 1", {2, 3, 4}),
    by_parameter("mul_shape: 2 mul_shape: 1 mul_shape: 4", {3, 4}),
    by_parameter("", {2, 3}),
    product({7, 1, 300}, {1, 50, 1}),
};

TEST(MulTest, Repeats) {
  KernelHarness harness(product({2, 1}, {3}), {});
  EXPECT_EQ(harness.top_shapes()[0], (Shape{2, 3}));
  harness.forward({{2, 3}, {1, 10, 100}});
  EXPECT_EQ(harness.tops()[0], (Array{2, 20, 200, 3, 30, 300}));
  harness.backward({{1, 1, 1, 1, 0, 0}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{111, 1}));
  EXPECT_EQ(harness.bottom_diffs()[1], (Array{5, 2, 2}));
}

TEST(MulTest, Gradients) {
  for (const KernelCase& c : kProducts) {
    if (c.bottoms[0].count() < 1000) check_gradients(c);
  }
}

TEST(MulTest, SinglePrecision) {
  for (const KernelCase& c : kProducts) compare_with_reference("reference", c);
}

TEST(MulTest, Gpu) {
  for (const KernelCase& c : kProducts) compare_gpu_with_reference(c);
}

TEST(MulTest, Errors) {
  expect_config_error(product({2, 3}, {2, 4}), "do not fit together", "bottom");
  expect_config_error(by_parameter("mul_shape: 2", {2, 3}), "do not fit together", "mul_param.mul_shape");
}

}  // namespace
}  // namespace robusta::test::mul_test
