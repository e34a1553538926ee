// Axpy.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::axpy_test {
namespace {

KernelCase axpy(const Shape& a, const Shape& x) { return {{"type: 'Axpy'"}, {a, x, x}}; }

const KernelCase kCases[] = {
    axpy({2, 3, 1, 1}, {2, 3, 4, 5}), axpy({2, 3}, {2, 3, 4}),          axpy({4, 2}, {4, 2}),
    axpy({1, 16}, {1, 16, 2, 4}),     axpy({2, 2, 1}, {2, 2, 3, 2, 2}),
};

TEST(AxpyTest, ScalesChannelsAndAdds) {
  KernelHarness harness(axpy({1, 2}, {1, 2, 2}), {});
  harness.forward({{2, 10}, {1, 2, 3, 4}, {5, 6, 7, 8}});
  EXPECT_EQ(harness.tops()[0], (Array{7, 10, 37, 48}));
  harness.backward({{1, 1, 1, 0}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{3, 3}));
  EXPECT_EQ(harness.bottom_diffs()[1], (Array{2, 2, 10, 0}));
  EXPECT_EQ(harness.bottom_diffs()[2], (Array{1, 1, 1, 0}));
}

TEST(AxpyTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(AxpyTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(AxpyTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(AxpyTest, Errors) {
  expect_config_error(axpy({2, 4}, {2, 3, 4}), "bottom 0 has shape 2 4", "bottom");
  expect_config_error(axpy({2, 3, 4}, {2, 3, 4}), "bottom 0 has shape 2 3 4", "bottom");
  expect_config_error(axpy({2}, {2}), "bottom 0 has shape 2", "bottom");
  expect_config_error({{"type: 'Axpy'"}, {{2, 3}, {2, 3, 4}, {2, 3, 5}}}, "bottom 2 2 3 5", "bottom");
}

}  // namespace
}  // namespace robusta::test::axpy_test
