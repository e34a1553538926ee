#include <gtest/gtest.h>

#include "support/convolution_cases.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::convolution_test {
namespace {

KernelCase deconvolution(const std::string& fields, std::vector<Shape> bottoms = {{2, 4, 4, 3}}) {
  return convolution(fields, bottoms, "Deconvolution");
}

const std::vector<KernelCase> kConvolutions = convolution_cases();

const std::vector<KernelCase> kDeconvolutions = {
    deconvolution("num_output: 3 kernel_size: 3"),
    deconvolution("num_output: 3 kernel_size: 1 bias_term: false"),
    deconvolution("num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 4"),
    deconvolution("num_output: 6 kernel_size: 2 stride: 3 group: 2"),
    deconvolution("num_output: 2 kernel_size: 3 dilation: 2 pad: 1"),
    deconvolution("num_output: 3 kernel_h: 1 kernel_w: 4 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 1"),
    deconvolution("num_output: 2 kernel_size: 3 stride: 2 pad_t: 1 pad_r: 2"),
    deconvolution("num_output: 3 kernel_size: 2", {{1, 2, 3, 2}, {1, 2, 3, 2}}),
    deconvolution("num_output: 2 kernel_size: 2 stride: 2", {{1, 2, 2, 3, 2}}),
};

TEST(ConvolutionTest, Gradients) {
  for (const KernelCase& c : kConvolutions) check_gradients(c);
}

TEST(ConvolutionTest, SinglePrecision) {
  for (const KernelCase& c : kConvolutions) compare_with_reference("reference", c);
}

/// pad_type: 1 gives one window for each stride-th pixel, and more padding behind than in front.
TEST(ConvolutionTest, PadTypeIsTensorFlowsSame) {
  const std::string ones = "num_output: 1 kernel_size: 3 weight_filler { type: 'constant' value: 1 } ";
  KernelHarness sums(convolution(ones + "stride: 2 pad_type: 1", {{1, 1, 6}}), {});
  sums.forward({{1, 2, 3, 4, 5, 6}}, {{1, 1, 1}, {0}});
  EXPECT_EQ(sums.tops()[0], (Array{6, 12, 11}));
  const auto top_of = [](const std::string& fields, const Shape& bottom) {
    return KernelHarness(convolution(fields, {bottom}), {}).top_shapes()[0];
  };
  EXPECT_EQ(top_of(ones + "dilation: 3 pad_type: 1", {2, 4, 6, 5}), (Shape{2, 1, 6, 5}));
  EXPECT_EQ(top_of("num_output: 1 kernel_size: 2 stride: 3 pad_type: 1", {1, 1, 7, 6}), (Shape{1, 1, 3, 2}));
  const KernelCase same = convolution("num_output: 3 kernel_h: 4 kernel_w: 3 stride: 2 pad_type: 1");
  check_gradients(same);
  compare_gpu_with_reference(same);
  EXPECT_EQ(error_of([&] { top_of(ones + "pad_type: 1 pad: 1", {1, 1, 6, 5}); }).field(), "convolution_param.pad_type");
  EXPECT_EQ(error_of([&] { KernelHarness(deconvolution("num_output: 1 kernel_size: 2 pad_type: 1"), {}); }).kind(),
            ErrorKind::kUnsupported);
}

TEST(DeconvolutionTest, Gradients) {
  for (const KernelCase& c : kDeconvolutions) check_gradients(c);
}

TEST(DeconvolutionTest, SinglePrecision) {
  for (const KernelCase& c : kDeconvolutions) compare_with_reference("reference", c);
}

TEST(ConvolutionTest, Gpu) {
  for (const KernelCase& c : kConvolutions) compare_gpu_with_reference(c);
}

TEST(DeconvolutionTest, Gpu) {
  for (const KernelCase& c : kDeconvolutions) compare_gpu_with_reference(c);
}

/// The defining sum, written without im2col: one output channel at a time, two spatial axes.
TEST(ConvolutionTest, EqualsTheDefinition) {
  const KernelCase c = convolution(
      "num_output: 4 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2 "
      "dilation: 2 dilation: 1 group: 2",
      {{2, 4, 7, 5}});
  const KernelInputs in = make_inputs(c);
  const KernelOutputs out = run_reference(c, in);
  const int64_t height = (7 + 2 - 5) / 2 + 1, width = 5 + 4 - 2 + 1;
  Array want;
  for (int n = 0; n < 2; ++n) {
    for (int o = 0; o < 4; ++o) {
      for (int64_t p = 0; p < height * width; ++p) {
        double sum = in.params[1][static_cast<size_t>(o)];
        for (int ci = 0; ci < 2; ++ci) {
          for (int t = 0; t < 6; ++t) {
            const int64_t y = p / width * 2 - 1 + t / 2 * 2, x = p % width - 2 + t % 2;
            if (y < 0 || y >= 7 || x < 0 || x >= 5) continue;
            sum += in.params[0][static_cast<size_t>((o * 2 + ci) * 6 + t)] *
                   in.bottoms[0][static_cast<size_t>(((n * 4 + o / 2 * 2 + ci) * 7 + y) * 5 + x)];
          }
        }
        want.push_back(sum);
      }
    }
  }
  expect_near(out.tops[0], want, 1e-13, "top");
}

TEST(ConvolutionTest, CountsOperations) {
  const KernelHarness harness(convolution("num_output: 3 kernel_size: 3 group: 1"), {});
  // 2 images of 4 x 3 outputs, 3 channels of 4 * 9 multiply-adds and one addition of the bias each.
  EXPECT_EQ(harness.layer().forward_flops(harness.bottom_shapes(), harness.top_shapes()), 2 * 4 * 3 * 3 * (2 * 36 + 1));
}

TEST(ConvolutionTest, RefusesBadFields) {
  const auto bad = [](const std::string& fields, const std::string& cause, const std::string& field,
                      std::vector<Shape> bottoms = {{2, 4, 6, 5}}) {
    expect_config_error(convolution(fields, bottoms), cause, "convolution_param." + field);
  };
  bad("kernel_size: 3", "no num_output", "num_output");
  bad("num_output: 0 kernel_size: 3", "num_output is 0", "num_output");
  bad("num_output: 3", "no kernel_size", "kernel_size");
  bad("num_output: 3 kernel_h: 3", "no kernel_size", "kernel_size");
  bad("num_output: 3 kernel_size: 0", "kernel_size is 0", "kernel_size");
  bad("num_output: 3 kernel_size: 3 stride: 0", "stride is 0", "stride");
  bad("num_output: 3 kernel_size: 3 dilation: 0", "dilation is 0", "dilation");
  bad("num_output: 3 kernel_size: 3 group: 0", "group is 0", "group");
  bad("num_output: 4 kernel_size: 3 group: 3", "group 3 does not divide the 4 input channels", "group");
  bad("num_output: 3 kernel_size: 3 group: 2", "group 2 does not divide the 3 outputs", "group");
  bad("num_output: 3 kernel_h: 7 kernel_w: 5", "kernel_size 7 exceeds input height 6", "kernel_size");
  bad("num_output: 3 kernel_size: 6 pad_h: 2", "kernel_size 6 exceeds input width 5", "kernel_size");
  bad("num_output: 3 kernel_size: 3 dilation: 4 pad: 1", "(9 with dilation 4) exceeds input height 6", "kernel_size");
  bad("num_output: 3 kernel_size: 3 kernel_h: 3 kernel_w: 3", "together with kernel_h", "kernel_size");
  bad("num_output: 3 kernel_size: 3 pad: 1 pad_w: 1", "together with pad_w", "pad");
  bad("num_output: 3 kernel_size: 3 pad: 1 pad: 1 pad: 1", "3 times for 2 spatial axes", "pad");
  bad("num_output: 3 kernel_h: 3 kernel_w: 3", "for two spatial axes", "kernel_h", {{2, 4, 6}});
  bad("num_output: 3 kernel_size: 3 axis: 4", "axis 4 does not exist", "axis");
  bad("num_output: 3 kernel_size: 4000000000 dilation: 4000000000", "out of all proportion", "kernel_size");
  bad("num_output: 3 kernel_size: 3 weight_filler { type: 'xaviar' }", "did you mean \"xavier\"", "weight_filler.type");
}

TEST(ConvolutionTest, RefusesBadBottoms) {
  expect_config_error(convolution("num_output: 3 kernel_size: 3", {{2, 4, 6, 5}, {2, 4, 6, 6}}), "bottom 1 has shape");
  expect_config_error(convolution("num_output: 3 kernel_size: 1", {{0, 4, 6, 5}}), "no elements");
  expect_config_error(convolution("num_output: 4000000000 kernel_size: 1 pad: 1000000"), "impossible shape");
  expect_config_error(deconvolution("num_output: 3 kernel_size: 1 pad: 9"), "pad 9 leaves nothing");
}

TEST(ConvolutionTest, RefusesOtherChannelsLater) {
  const auto layer = make_layer(parse_layer("type: 'Convolution' convolution_param { num_output: 3 kernel_size: 3 }"));
  EXPECT_EQ(layer->infer_tops({Shape{2, 4, 6, 5}})[0], (Shape{2, 3, 4, 3}));
  EXPECT_EQ(layer->infer_tops({Shape{1, 4, 9, 9}})[0], (Shape{1, 3, 7, 7}));
  EXPECT_THROW(layer->infer_tops({Shape{2, 5, 6, 5}}), Error);
}

}  // namespace
}  // namespace robusta::test::convolution_test
