// PSROIPooling.

#include "support/regions.h"

namespace robusta::test::ps_roi_pooling_test {
namespace {

KernelCase ps_roi_pooling(const std::string& param, const Shape& features, const Array& regions) {
  return regions_case("type: 'PSROIPooling' psroi_pooling_param { " + param + " }", features, regions);
}

std::vector<KernelCase> cases() {
  return {
      ps_roi_pooling("spatial_scale: 1 output_dim: 2 group_size: 2", {2, 8, 7, 6}, some_regions(2, 6, 7)),
      ps_roi_pooling("spatial_scale: 0.0625 output_dim: 1 group_size: 3", {2, 9, 5, 8}, some_regions(2, 128, 80)),
      ps_roi_pooling("spatial_scale: 0.25 output_dim: 3 group_size: 1", {3, 3, 6, 5}, some_regions(3, 20, 24)),
  };
}

TEST(PsRoiPoolingTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(PsRoiPoolingTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(PsRoiPoolingTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

TEST(PsRoiPoolingTest, LargeFeatures) {
  const KernelCase large =
      ps_roi_pooling("spatial_scale: 0.5 output_dim: 2 group_size: 7", {2, 98, 19, 25}, some_regions(2, 50, 38));
  compare_with_reference("reference", large);
  compare_gpu_with_reference(large);
}

/// Channel k of the features is 100 k + their pixel: means worked out by hand.
TEST(PsRoiPoolingTest, BinsByHand) {
  Array features;
  for (int channel = 0; channel < 4; ++channel) {
    for (int pixel = 0; pixel < 16; ++pixel) features.push_back(100 * channel + pixel);
  }
  for (const char* backend : {"reference", "gpu"}) {
    const auto pooled = [&](const Array& region, const std::string& scale = "1") {
      const std::string param = "output_dim: 1 group_size: 2 spatial_scale: " + scale;
      KernelHarness harness(ps_roi_pooling(param, {1, 4, 4, 4}, region), {.backend = backend, .dtype = DType::kF32});
      harness.forward({features, region});
      return harness.tops()[0];
    };
    EXPECT_EQ(pooled({0, 0, 0, 3, 3}), (Array{2.5, 104.5, 210.5, 312.5})) << backend;
    // Three pixels: a bin takes each pixel that it touches.
    EXPECT_EQ(pooled({0, 0, 0, 2, 2}), (Array{2.5, 103.5, 206.5, 307.5})) << backend;
    // Rounded before it is scaled: pixels 2 to 5 of the image, 1 to 2 of the features.
    EXPECT_EQ(pooled({0, 1.5, 1.5, 5.4, 5.4}, "0.5"), (Array{5, 106, 209, 310})) << backend;
    EXPECT_EQ(pooled({0, 2, 2, 5, 5}), (Array{12.5, 0, 0, 0})) << backend;
    // Upside down: a tenth of a pixel.
    EXPECT_EQ(pooled({0, 2, 2, 0, 0}), (Array{10, 110, 210, 310})) << backend;
  }
}

TEST(PsRoiPoolingTest, BadRegions) {
  check_region_errors("type: 'PSROIPooling' psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }");
}

TEST(PsRoiPoolingTest, Errors) {
  check_region_shapes("type: 'PSROIPooling' psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }");
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(ps_roi_pooling(param, {1, 4, 4, 4}, {0, 0, 0, 1, 1}), cause, field);
  };
  expect_refused("group_size: 2 spatial_scale: 1", "no output_dim is given", "psroi_pooling_param.output_dim");
  expect_refused("output_dim: 1 spatial_scale: 1", "no group_size is given", "psroi_pooling_param.group_size");
  expect_refused("output_dim: 1 group_size: -2 spatial_scale: 1", "group_size is -2", "psroi_pooling_param.group_size");
  expect_refused("output_dim: 1 group_size: 2", "no spatial_scale is given", "psroi_pooling_param.spatial_scale");
  expect_refused("output_dim: 1 group_size: 2 spatial_scale: -1", "spatial_scale is -1",
                 "psroi_pooling_param.spatial_scale");
  expect_refused("output_dim: 2 group_size: 2 spatial_scale: 1", "bottom 0 has 4 channels", "bottom");
  expect_refused("output_dim: 2147483647 group_size: 2147483647 spatial_scale: 1", "bottom 0 has 4 channels", "bottom");
}

}  // namespace
}  // namespace robusta::test::ps_roi_pooling_test
