// ResizeBilinear and ResizeNearestNeighbor. Expected numbers are TensorFlow's rules, by hand.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::resize_test {
namespace {

KernelCase bilinear(const std::string& param, const Shape& bottom) {
  return {{"type: 'ResizeBilinear' resize_bilinear_param { " + param + " }"}, {bottom}};
}

KernelCase nearest(const std::string& param, const Shape& bottom) {
  return {{"type: 'ResizeNearestNeighbor' resize_nearest_neighbor_param { " + param + " }"}, {bottom}};
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all;
  for (const char* rule : {"", "align_corners: true", "half_pixel_centers: true"}) {
    for (const char* size : {" output_height: 7 output_width: 5", " output_height: 2 output_width: 3",
                             " output_height: 1 output_width: 1", " scale_height: 2 scale_width: 1.5"}) {
      for (const char* format : {" data_format: 'NCHW'", ""}) {
        const Shape bottom = *format ? Shape{2, 3, 4, 6} : Shape{2, 4, 6, 3};
        all.push_back(bilinear(std::string(rule) + size + format, bottom));
        all.push_back(nearest(std::string(rule) + size + format, bottom));
      }
    }
  }
  all.push_back(
      bilinear("pytorch_half_pixel: true output_height: 1 output_width: 9 data_format: 'NCHW'", {1, 8, 4, 6}));
  return all;
}

Array row(const KernelCase& what, const Array& pixels) {
  KernelHarness harness(what, {});
  harness.forward({pixels});
  return harness.tops()[0];
}

std::string width(int pixels, const std::string& rule = "") {
  return "data_format: 'NCHW' output_height: 1 output_width: " + std::to_string(pixels) + " " + rule;
}

TEST(ResizeTest, BilinearRules) {
  const Shape three{1, 1, 1, 3}, two{1, 1, 1, 2};
  EXPECT_EQ(row(bilinear(width(4), two), {0, 8}), (Array{0, 4, 8, 8}));
  EXPECT_EQ(row(bilinear(width(5, "align_corners: true"), three), {0, 2, 10}), (Array{0, 1, 2, 6, 10}));
  EXPECT_EQ(row(bilinear(width(4, "half_pixel_centers: true"), two), {0, 8}), (Array{0, 2, 6, 8}));
  EXPECT_EQ(row(bilinear(width(4, "pytorch_half_pixel: true"), two), {0, 8}), (Array{0, 2, 6, 8}));
  EXPECT_EQ(row(bilinear(width(1, "half_pixel_centers: true"), two), {0, 8}), Array{4});
  EXPECT_EQ(row(bilinear(width(1, "pytorch_half_pixel: true"), two), {0, 8}), Array{0});
}

TEST(ResizeTest, NearestRules) {
  const Shape three{1, 1, 1, 3};
  EXPECT_EQ(row(nearest(width(6), three), {1, 2, 3}), (Array{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(row(nearest(width(4), three), {1, 2, 3}), (Array{1, 1, 2, 3}));
  EXPECT_EQ(row(nearest(width(4, "align_corners: true"), three), {1, 2, 3}), (Array{1, 2, 2, 3}));
  EXPECT_EQ(row(nearest(width(2, "half_pixel_centers: true"), three), {1, 2, 3}), (Array{1, 3}));
  EXPECT_EQ(row(nearest(width(2), three), {1, 2, 3}), (Array{1, 2}));
}

TEST(ResizeTest, TakesTheOrderOfTensorFlowUnlessToldOtherwise) {
  KernelHarness harness(nearest("output_height: 1 output_width: 4", {1, 1, 2, 3}), {});
  EXPECT_EQ(harness.top_shapes()[0], (Shape{1, 1, 4, 3}));
  harness.forward({{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
}

TEST(ResizeTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(ResizeTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(ResizeTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

TEST(ResizeTest, Errors) {
  const Shape bottom{1, 4, 4, 3};
  expect_config_error(bilinear("data_format: 'NCHWD'", bottom), "data_format is \"NCHWD\"",
                      "resize_bilinear_param.data_format");
  expect_config_error(nearest("align_corners: true half_pixel_centers: true", bottom), "say different things",
                      "resize_nearest_neighbor_param.half_pixel_centers");
  expect_config_error(bilinear("align_corners: true pytorch_half_pixel: true", bottom), "beside another rule",
                      "resize_bilinear_param.pytorch_half_pixel");
  expect_config_error(bilinear("output_height: 0", bottom), "would be 0", "resize_bilinear_param.output_height");
  expect_config_error(nearest("output_width: -3", bottom), "would be -3", "resize_nearest_neighbor_param.output_width");
  expect_config_error(bilinear("scale_width: nan", bottom), "would be 0", "resize_bilinear_param.output_width");
  expect_config_error(bilinear("scale_height: 0.1", bottom), "would be 0", "resize_bilinear_param.output_height");
  expect_config_error(bilinear("", {4, 4, 3}), "takes an input of four axes");
}

}  // namespace
}  // namespace robusta::test::resize_test
