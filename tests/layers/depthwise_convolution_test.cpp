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

/// Whole packs of channels, which kernels of their own take: strips that end beside the image, padding on either side.
TEST(DepthwiseConvolutionTest, GpuInPacks) {
  const KernelCase cases[] = {
      depthwise("num_output: 16 kernel_size: 3 pad: 1", {2, 16, 7, 6}),
      depthwise("num_output: 8 kernel_size: 3", {2, 8, 6, 9}),
      depthwise("num_output: 8 kernel_size: 3 pad: 2 bias_term: false", {1, 8, 5, 3}),
      depthwise("num_output: 24 kernel_size: 3 pad_h: 0 pad_w: 1", {3, 24, 3, 2}),
      depthwise("num_output: 16 kernel_size: 3 pad: 1 stride: 2", {2, 16, 7, 8}),
      depthwise("num_output: 8 kernel_size: 3 stride: 2 bias_term: false", {2, 8, 9, 6}),
      depthwise("num_output: 8 kernel_size: 3 pad_t: 1 pad_r: 2 stride: 2", {2, 8, 6, 7}),
      depthwise("num_output: 8 kernel_size: 3 pad: 3 stride: 2", {1, 8, 2, 1}),
  };
  for (KernelCase c : cases) {
    const auto kernel_of = [&](DType type) {
      KernelHarness harness(c, {.backend = "gpu", .dtype = type});
      return harness.kernel().describe();
    };
    EXPECT_EQ(kernel_of(DType::kF32), "gpu depthwise");
    EXPECT_EQ(kernel_of(DType::kBF16), "gpu depthwise");
    compare_gpu_with_reference(c);
    for (const char* slope : {"", "relu_param { negative_slope: 0.25 }"}) {
      KernelCase with_relu = c;
      with_relu.layers.push_back(std::string("type: 'ReLU' ") + slope);
      // In 16 bits a result next to 0 may come to lie on its other side.
      compare_gpu_with_reference(with_relu, 1e-5, {.dtype = DType::kF32});
    }
  }
}

/// Packs that are not whole, other windows, filters of several results: by im2col.
TEST(DepthwiseConvolutionTest, GpuLeavesOthers) {
  for (const KernelCase& c : {depthwise("num_output: 6 kernel_size: 3", {1, 6, 5, 5}),
                              depthwise("num_output: 8 kernel_size: 3 stride: 3", {1, 8, 7, 7}),
                              depthwise("num_output: 8 kernel_size: 3 dilation: 2", {1, 8, 7, 7}),
                              depthwise("num_output: 8 kernel_h: 3 kernel_w: 1", {1, 8, 7, 7}),
                              depthwise("num_output: 16 kernel_size: 3", {1, 8, 7, 7})}) {
    KernelHarness harness(c, {.backend = "gpu", .dtype = DType::kF32});
    EXPECT_NE(harness.kernel().describe(), "gpu depthwise") << c.layers[0];
    compare_gpu_with_reference(c);
  }
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
