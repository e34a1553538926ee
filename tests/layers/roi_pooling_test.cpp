// ROIPooling.

#include "support/regions.h"

namespace robusta::test::roi_pooling_test {
namespace {

KernelCase roi_pooling(const std::string& param, const Shape& features, const Array& regions) {
  return regions_case("type: 'ROIPooling' roi_pooling_param { " + param + " }", features, regions);
}

std::vector<KernelCase> cases() {
  return {
      roi_pooling("pooled_h: 3 pooled_w: 2", {2, 3, 7, 6}, some_regions(2, 6, 7)),
      roi_pooling("pooled_h: 2 pooled_w: 4 spatial_scale: 0.0625", {2, 2, 5, 8}, some_regions(2, 128, 80)),
      roi_pooling("pooled_h: 7 pooled_w: 7 spatial_scale: 0.25 pad_ratio: 0.3", {3, 1, 6, 5}, some_regions(3, 20, 24)),
      roi_pooling("pooled_h: 1 pooled_w: 1", {1, 4, 3, 3}, some_regions(1, 3, 3)),
  };
}

TEST(RoiPoolingTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(RoiPoolingTest, PooledSizeIsBothOrEach) {
  const auto shape_of = [](const std::string& param) {
    const KernelCase c = roi_pooling(param, {1, 2, 7, 6}, some_regions(1, 6, 7));
    return run_reference(c, make_inputs(c)).tops[0];
  };
  EXPECT_EQ(shape_of("pooled_size: 3"), shape_of("pooled_h: 3 pooled_w: 3"));
  EXPECT_EQ(shape_of("pooled_size: 3 pooled_size: 2"), shape_of("pooled_h: 3 pooled_w: 2"));
  for (const char* wrong :
       {"pooled_size: 0", "pooled_size: 2 pooled_w: 2", "pooled_size: 2 pooled_size: 2 pooled_size: 2"}) {
    expect_config_error(roi_pooling(wrong, {1, 2, 7, 6}, some_regions(1, 6, 7)), "pooled_size",
                        "roi_pooling_param.pooled_size");
  }
}

TEST(RoiPoolingTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(RoiPoolingTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

/// A thread for each of many planes.
TEST(RoiPoolingTest, LargeFeatures) {
  const KernelCase large =
      roi_pooling("pooled_h: 6 pooled_w: 6 spatial_scale: 0.5", {2, 32, 19, 25}, some_regions(2, 50, 38));
  compare_with_reference("reference", large);
  compare_gpu_with_reference(large);
}

/// The largest values of 1 .. 16 in rows of four, worked out by hand.
TEST(RoiPoolingTest, BinsByHand) {
  Array features(16);
  for (size_t i = 0; i < 16; ++i) features[i] = static_cast<double>(i + 1);
  for (const char* backend : {"reference", "gpu"}) {
    const auto pooled = [&](const std::string& param, const Array& region) {
      KernelHarness harness(roi_pooling(param, {1, 1, 4, 4}, region), {.backend = backend, .dtype = DType::kF32});
      harness.forward({features, region});
      return harness.tops()[0];
    };
    const std::string two = "pooled_h: 2 pooled_w: 2";
    EXPECT_EQ(pooled(two, {0, 0, 0, 3, 3}), (Array{6, 8, 14, 16})) << backend;
    // Three pixels wide: bins of 1.5 pixels share the one in the middle.
    EXPECT_EQ(pooled(two, {0, 0, 0, 2, 2}), (Array{6, 7, 10, 11})) << backend;
    // Corners are rounded away from zero: 0.5 is pixel 1, 2.4 is pixel 2.
    EXPECT_EQ(pooled(two, {0, 0.5, 0.5, 2.4, 2.4}), (Array{6, 7, 10, 11})) << backend;
    // Scaled, then rounded: pixels 1 to 2.
    EXPECT_EQ(pooled(two + " spatial_scale: 0.0625", {0, 16, 16, 32, 32}), (Array{6, 7, 10, 11})) << backend;
    // Upside down: one pixel, in every bin.
    EXPECT_EQ(pooled(two, {0, 2, 2, 0, 0}), (Array{11, 11, 11, 11})) << backend;
    // Half outside: bins without a pixel are zero.
    EXPECT_EQ(pooled(two, {0, 2, 2, 5, 5}), (Array{16, 0, 0, 0})) << backend;
    EXPECT_EQ(pooled(two, {0, 40, 0, 50, 3}), (Array{0, 0, 0, 0})) << backend;
    // Context of as much as the region, on each side: pixels 0 to 3 of 1 to 2 with half of it.
    EXPECT_EQ(pooled(two + " pad_ratio: 0.5", {0, 1, 1, 2, 2}), (Array{6, 8, 14, 16})) << backend;
  }
}

TEST(RoiPoolingTest, BadRegions) {
  check_region_errors("type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 }");
}

TEST(RoiPoolingTest, Errors) {
  check_region_shapes("type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 }");
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(roi_pooling(param, {1, 1, 4, 4}, {0, 0, 0, 1, 1}), cause, "roi_pooling_param." + field);
  };
  expect_refused("pooled_w: 2", "no pooled_h is given, or 0", "pooled_h");
  expect_refused("pooled_h: 2 pooled_w: 0", "no pooled_w is given, or 0", "pooled_w");
  expect_refused("pooled_h: 2 pooled_w: 2 spatial_scale: 0", "spatial_scale is 0", "spatial_scale");
  expect_refused("pooled_h: 2 pooled_w: 2 spatial_scale: nan", "spatial_scale is nan", "spatial_scale");
  expect_refused("pooled_h: 2 pooled_w: 2 pad_ratio: -1", "pad_ratio is -1", "pad_ratio");
  expect_config_error(roi_pooling("pooled_h: 4294967295 pooled_w: 4294967295", {1, 1, 4, 4}, {0, 0, 0, 1, 1}),
                      "impossible shape");
}

}  // namespace
}  // namespace robusta::test::roi_pooling_test
