// Im2col.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::im2col_layer_test {
namespace {

KernelCase im2col(const std::string& param, const Shape& bottom) {
  return {{"type: 'Im2col' convolution_param { " + param + " }"}, {bottom}};
}

const KernelCase kUnfolded[] = {
    im2col("kernel_size: 3", {2, 3, 5, 4}),
    im2col("kernel_size: 3 stride: 2 pad: 1", {2, 2, 5, 4}),
    im2col("kernel_size: 2 dilation: 2", {1, 2, 6, 5}),
    im2col("kernel_h: 1 kernel_w: 3 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 2", {1, 2, 4, 5}),
    im2col("kernel_size: 2 kernel_size: 1 kernel_size: 3", {1, 2, 3, 2, 4}),
    im2col("kernel_size: 3 pad: 1", {2, 3, 7}),
    im2col("kernel_size: 2 axis: 2", {2, 3, 2, 4, 4}),
    im2col("axis: -1", {2, 3}),
};

TEST(Im2colTest, Shapes) {
  EXPECT_EQ(KernelHarness(kUnfolded[1], {}).top_shapes()[0], (Shape{2, 18, 3, 2}));
  EXPECT_EQ(KernelHarness(kUnfolded[6], {}).top_shapes()[0], (Shape{2, 3, 8, 3, 3}));
}

TEST(Im2colTest, TapsBecomeChannels) {
  KernelHarness harness(im2col("kernel_size: 2", {1, 1, 3}), {});
  harness.forward({{1, 2, 3}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 2, 2, 3}));
}

TEST(Im2colTest, Gradients) {
  for (const KernelCase& c : kUnfolded) check_gradients(c);
}

TEST(Im2colTest, SinglePrecision) {
  for (const KernelCase& c : kUnfolded) compare_with_reference("reference", c);
}

TEST(Im2colTest, Gpu) {
  for (const KernelCase& c : kUnfolded) compare_gpu_with_reference(c);
}

TEST(Im2colTest, Errors) {
  expect_config_error(im2col("", {1, 2, 3, 3}), "no kernel_size", "convolution_param.kernel_size");
  expect_config_error(im2col("kernel_size: 4", {1, 2, 3, 5}), "exceeds input height 3",
                      "convolution_param.kernel_size");
  expect_config_error(im2col("kernel_size: 3 axis: 4", {1, 2, 3, 5}), "axis 4", "convolution_param.axis");
}

}  // namespace
}  // namespace robusta::test::im2col_layer_test
