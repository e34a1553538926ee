// UpsampleDarknet.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::upsample_darknet_test {
namespace {

KernelCase repeat(const std::string& param, const Shape& bottom) {
  return {{"type: 'UpsampleDarknet' upsample_darknet_param { " + param + " }"}, {bottom}};
}

const KernelCase kCases[] = {repeat("stride: 2", {2, 3, 4, 5}), repeat("stride: 3", {1, 8, 3, 2}),
                             repeat("", {1, 2, 3, 4})};

TEST(UpsampleDarknetTest, Repeats) {
  KernelHarness harness(repeat("stride: 2", {1, 1, 2, 1}), {});
  harness.forward({{1, 2}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 1, 1, 1, 2, 2, 2, 2}));
  harness.backward({{1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{10, 26}));
}

TEST(UpsampleDarknetTest, KernelsAgree) {
  for (const KernelCase& c : kCases) {
    check_gradients(c);
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(UpsampleDarknetTest, Errors) {
  const std::string field = "upsample_darknet_param.stride";
  expect_config_error(repeat("stride: 0", {1, 1, 2, 2}), "stride is 0", field);
  expect_config_error(repeat("stride: -2", {1, 1, 2, 2}), "stride is -2", field);
  expect_config_error(repeat("stride: 2147483647", {1, 1, 2, 2}), "height", field);
  expect_config_error(repeat("stride: 2", {1, 2, 2}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::upsample_darknet_test
