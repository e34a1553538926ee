// ROIAlign and ROIWarping. Expected numbers by hand.

#include "support/regions.h"

namespace robusta::test::region_samples_test {
namespace {

KernelCase aligned(const std::string& param, const Shape& features, const Array& regions) {
  return regions_case("type: 'ROIAlign' roi_pooling_param { " + param + " }", features, regions);
}

/// Corners have no gradient, which could not be compared with differences: they are rounded.
KernelCase warped(const std::string& param, const Shape& features, const Array& regions) {
  return regions_case(
      "type: 'ROIWarping' propagate_down: true propagate_down: false roi_warping_param { " + param + " }", features,
      regions);
}

std::vector<KernelCase> cases() {
  return {
      aligned("pooled_h: 3 pooled_w: 2", {2, 3, 7, 6}, some_regions(2, 6, 7)),
      aligned("pooled_h: 2 pooled_w: 4 spatial_scale: 0.0625", {2, 2, 5, 8}, some_regions(2, 128, 80)),
      aligned("pooled_h: 7 pooled_w: 7 spatial_scale: 0.25 pad_ratio: 0.3", {3, 1, 6, 5}, some_regions(3, 20, 24)),
      aligned("pooled_h: 1 pooled_w: 1", {1, 4, 3, 3}, some_regions(1, 3, 3)),
      warped("pooled_h: 3 pooled_w: 2", {2, 3, 7, 6}, some_regions(2, 6, 7)),
      warped("pooled_h: 9 pooled_w: 14 spatial_scale: 0.0625", {2, 2, 5, 8}, some_regions(2, 128, 80)),
      warped("pooled_h: 1 pooled_w: 1", {1, 4, 3, 3}, some_regions(1, 3, 3)),
  };
}

TEST(RegionSamplesTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(RegionSamplesTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(RegionSamplesTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

/// Pixel (y, x) of a plane of 6 x 6 is 10 y + x, which lies between pixels as it does in them.
Array plane() {
  Array values;
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 6; ++x) values.push_back(10 * y + x);
  }
  return values;
}

TEST(RegionSamplesTest, AlignedPlacesAreTheCornersOfBins) {
  // From x 1.5 to 3.5 and y 0.5 to 4.5, where pixels have their middle at whole numbers: half a pixel less.
  const Array region{0, 2, 1, 4, 5};
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(aligned("pooled_h: 2 pooled_w: 1", {1, 1, 6, 6}, region),
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({plane(), region});
    EXPECT_EQ(harness.tops()[0], (Array{6.5, 8.5, 26.5, 28.5, 46.5, 48.5})) << backend;
    // Half a pixel beyond the features the edge counts, further away nothing does.
    const Array outside{0, 0, 0, 12, 6};
    harness.forward({plane(), outside});
    EXPECT_EQ(harness.tops()[0], (Array{0, 0, 25, 0, 50, 0})) << backend;
    const Array empty{0, 4, 4, 4, 5};
    harness.forward({plane(), empty});
    EXPECT_EQ(harness.tops()[0], Array(6, 0.0)) << backend;
  }
}

TEST(RegionSamplesTest, AlignedRegionsGrow) {
  // 4 pixels wide and high, each counted whole, grow by 1 on each side.
  const Array region{0, 2, 2, 5, 5};
  KernelHarness harness(aligned("pooled_h: 1 pooled_w: 1 pad_ratio: 0.25", {1, 1, 6, 6}, region), {});
  harness.forward({plane(), region});
  EXPECT_EQ(harness.tops()[0], (Array{5.5, 10, 50.5, 55}));
}

TEST(RegionSamplesTest, WarpedPlacesBeginAtTheRoundedCorner) {
  // Scaled by a half and rounded: from x 1 to 5, from y 0 to 3.
  const Array region{0, 1.2, 0.4, 10.3, 6.2};
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(warped("pooled_h: 2 pooled_w: 2 spatial_scale: 0.5", {1, 1, 6, 6}, region),
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({plane(), region});
    EXPECT_EQ(harness.tops()[0], (Array{1, 3, 16, 18})) << backend;
  }
}

TEST(RegionSamplesTest, CornersHaveTheSlopesOfTheirPlaces) {
  const Array region{0, 1.2, 0.4, 10.3, 6.2};
  const std::string layer = "type: 'ROIWarping' roi_warping_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }";
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(regions_case(layer, {1, 1, 6, 6}, region), {.backend = backend, .dtype = DType::kF32});
    EXPECT_TRUE(harness.wants_bottom(1));
    harness.forward({plane(), region});
    harness.backward({{1, 1, 1, 1}});
    // A row is 10 more than the one above it, a column 1 more; half of the places move with the second corner by half.
    EXPECT_EQ(harness.bottom_diffs()[1], (Array{0, 0.5 * 3, 5 * 3, 0.5 * 1, 5 * 1})) << backend;
    harness.backward({{0, 0, 0, 1}});
    EXPECT_EQ(harness.bottom_diffs()[1], (Array{0, 0.25, 2.5, 0.25, 2.5})) << backend;
  }
}

TEST(RegionSamplesTest, CornersOnTheGpu) {
  const std::string layer = "type: 'ROIWarping' roi_warping_param { pooled_h: 3 pooled_w: 5 spatial_scale: 0.5 }";
  compare_gpu_with_reference(regions_case(layer, {2, 3, 7, 6}, some_regions(2, 12, 14)));
}

TEST(RegionSamplesTest, Errors) {
  const Array region{0, 0, 0, 1, 1};
  expect_config_error(aligned("pooled_w: 2", {1, 1, 2, 2}, region), "no pooled_h", "roi_pooling_param.pooled_h");
  expect_config_error(aligned("pooled_h: 2 pooled_w: 2 pad_ratio: -1", {1, 1, 2, 2}, region), "pad_ratio is -1",
                      "roi_pooling_param.pad_ratio");
  expect_config_error(warped("pooled_h: 2", {1, 1, 2, 2}, region), "no pooled_w", "roi_warping_param.pooled_w");
  expect_config_error(warped("pooled_h: 2 pooled_w: 2 spatial_scale: 0", {1, 1, 2, 2}, region), "spatial_scale",
                      "roi_warping_param.spatial_scale");
  check_region_shapes("type: 'ROIWarping' roi_warping_param { pooled_h: 2 pooled_w: 2 }");
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(aligned("pooled_h: 1 pooled_w: 1", {1, 1, 2, 2}, {1, 0, 0, 1, 1}),
                          {.backend = backend, .dtype = DType::kF32});
    EXPECT_EQ(error_of([&] { harness.forward({Array(4, 0.0), {1, 0, 0, 1, 1}}); }).kind(), ErrorKind::kData);
  }
}

}  // namespace
}  // namespace robusta::test::region_samples_test
