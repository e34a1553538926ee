// ChannelScale.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::channel_scale_test {
namespace {

KernelCase scaled(const Shape& x, const Shape& scale, const std::string& param = "") {
  return {{"type: 'ChannelScale' channel_scale_param { " + param + " }"}, {x, scale}};
}

const KernelCase kCases[] = {
    scaled({2, 3, 4, 5}, {2, 1, 4, 5}),
    scaled({4, 5}, {4}),
    scaled({4, 5}, {4, 1}),
    scaled({2, 3, 4}, {2, 4}),
    scaled({2, 3, 2}, {2, 1, 2}, "do_backward_scale: false"),
};

TEST(ChannelScaleTest, ScalesPixels) {
  KernelHarness harness(scaled({1, 2, 2}, {1, 2}), {});
  harness.forward({{1, 2, 3, 4}, {10, 100}});
  EXPECT_EQ(harness.tops()[0], (Array{10, 200, 30, 400}));
  harness.backward({{1, 1, 1, 0}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{10, 100, 10, 0}));
  EXPECT_EQ(harness.bottom_diffs()[1], (Array{4, 2}));
}

TEST(ChannelScaleTest, KeepsTheGradientFromTheScale) {
  EXPECT_TRUE(KernelHarness(scaled({2, 3}, {2}), {}).wants_bottom(1));
  EXPECT_FALSE(KernelHarness(scaled({2, 3}, {2}, "do_backward_scale: false"), {}).wants_bottom(1));
}

TEST(ChannelScaleTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(ChannelScaleTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(ChannelScaleTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(ChannelScaleTest, Errors) {
  expect_config_error(scaled({2, 3, 4}, {2, 3}), "bottom 1 2 3", "bottom");
  expect_config_error(scaled({2, 3, 4}, {1, 4}), "bottom 1 1 4", "bottom");
}

}  // namespace
}  // namespace robusta::test::channel_scale_test
