// Depthwise convolutions, by their three names.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::depthwise_convolution_test {
namespace {

KernelCase depthwise(const std::string& fields, const Shape& bottom, const std::string& type = "DepthwiseConvolution") {
  return {{"type: '" + type + "' convolution_param { " + fields + " }"}, {bottom}};
}

const KernelCase kCases[] = {
    depthwise("num_output: 3 kernel_size: 3 pad: 1", {2, 3, 5, 6}),
    depthwise("num_output: 3 kernel_size: 3 stride: 2 group: 3 bias_term: false", {2, 3, 7, 6}),
    depthwise("num_output: 6 kernel_size: 2", {1, 3, 4, 4}, "ConvolutionDepthwise"),
    depthwise("num_output: 2 kernel_size: 3 dilation: 2", {1, 2, 7, 7}, "ConvolutionDepthWise"),
};

TEST(DepthwiseConvolutionTest, IsAGroupedConvolution) {
  for (const char* type : {"DepthwiseConvolution", "ConvolutionDepthwise", "ConvolutionDepthWise"}) {
    KernelHarness harness(depthwise("num_output: 2 kernel_size: 1 bias_term: false", {1, 2, 1, 2}, type), {});
    EXPECT_EQ(harness.layer().type(), "Convolution");
    EXPECT_EQ(harness.param_decls()[0].shape, (Shape{2, 1, 1, 1})) << type;
    harness.forward({{1, 2, 3, 4}}, {{10, 100}});
    EXPECT_EQ(harness.tops()[0], (Array{10, 20, 300, 400})) << type;
  }
}

TEST(DepthwiseConvolutionTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(DepthwiseConvolutionTest, HostKernels) {
  for (const char* backend : {"reference", "onednn"}) {
    for (const KernelCase& c : kCases) compare_with_reference(backend, c);
  }
}

TEST(DepthwiseConvolutionTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(DepthwiseConvolutionTest, Errors) {
  expect_config_error(depthwise("num_output: 4 kernel_size: 1 group: 2", {1, 4, 2, 2}), "group 2 is given for 4",
                      "convolution_param.group");
  expect_config_error(depthwise("num_output: 4 kernel_size: 1", {1, 3, 2, 2}), "group 3 does not divide the 4",
                      "convolution_param.group");
  expect_config_error(depthwise("kernel_size: 1", {1, 3, 2, 2}), "no num_output", "convolution_param.num_output");
}

}  // namespace
}  // namespace robusta::test::depthwise_convolution_test
