// Upsample.

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::upsample_test {
namespace {

KernelCase repeat(const std::string& param, const Shape& bottom) {
  return {{"type: 'Upsample' upsample_param { " + param + " }"}, {bottom}};
}

/// A mask whose places differ within each plane of `out` pixels, unless they are `crowded`.
KernelCase masked(const std::string& param, const Shape& bottom, int64_t out, bool crowded = false) {
  KernelCase what{{"type: 'Upsample' bottom: 'x' bottom: 'mask' upsample_param { " + param + " }"}, {bottom, bottom}};
  what.bottom_values = [=](int index, const Shape& shape) {
    Array places;
    for (int64_t i = 0; index == 1 && i < shape.count(); ++i) {
      const int64_t within = i % shape.count(2);
      places.push_back(static_cast<double>(crowded ? within / 2 : (within * 3 + i / shape.count(2)) % out));
    }
    return places;
  };
  return what;
}

const KernelCase kCases[] = {
    repeat("scale: 2", {2, 3, 4, 5}),
    repeat("scale: 3", {1, 8, 3, 2}),
    repeat("", {1, 2, 3, 4}),
    masked("", {2, 3, 4, 5}, 80),
    masked("upsample_h: 5 upsample_w: 8", {2, 8, 3, 4}, 40),
    masked("scale_h: 2 scale_w: 3 pad_out_h: true", {1, 2, 3, 4}, 60),
    masked("scale: 2", {1, 2, 3, 4}, 48, true),
};

TEST(UpsampleTest, Repeats) {
  KernelHarness harness(repeat("scale: 2", {1, 1, 1, 2}), {});
  harness.forward({{1, 2}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 1, 2, 2, 1, 1, 2, 2}));
  harness.backward({{1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{14, 22}));
}

TEST(UpsampleTest, PutsPixelsWhereTheyCameFrom) {
  KernelHarness harness(masked("upsample_h: 2 upsample_w: 3", {1, 1, 1, 2}, 6), {});
  harness.forward({{7, 8}, {4, 2}});
  EXPECT_EQ(harness.tops()[0], (Array{0, 0, 8, 0, 7, 0}));
  harness.backward({{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{5, 3}));
}

TEST(UpsampleTest, TheLastWithOnePlaceCounts) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(masked("upsample_h: 2 upsample_w: 2", {1, 1, 1, 3}, 4),
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({{5, 6, 7}, {1, 3, 1}});
    EXPECT_EQ(harness.tops()[0], (Array{0, 7, 0, 6})) << backend;
    harness.backward({{1, 2, 3, 4}});
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 4, 2})) << backend;
  }
}

/// Pooling hands its mask over as a second top.
TEST(UpsampleTest, TakesTheMaskOfAPooling) {
  KernelHarness pooling(
      {{"type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }"}, {{1, 1, 2, 4}}, caffe::TRAIN, 2}, {});
  pooling.forward({{1, 2, 3, 4, 8, 7, 6, 5}});
  KernelHarness upsample(masked("", {1, 1, 1, 2}, 8), {});
  upsample.forward(pooling.tops());
  EXPECT_EQ(upsample.tops()[0], (Array{0, 0, 0, 0, 8, 0, 6, 0}));
}

TEST(UpsampleTest, APlaceOutOfRangeIsAnError) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(masked("", {1, 1, 1, 2}, 8), {.backend = backend, .dtype = DType::kF32});
    for (const double place : {8.0, -1.0, 1e30}) {
      const Error error = error_of([&] {
        harness.forward({{5, 6}, {1, place}});
        harness.kernel().check({});
      });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.what(), "at place 1 is out of range 0..7")) << error.what();
    }
  }
}

TEST(UpsampleTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(UpsampleTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(UpsampleTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(UpsampleTest, Errors) {
  const Shape bottom{1, 2, 3, 4};
  expect_config_error(repeat("scale: 0", bottom), "scale is 0", "upsample_param.scale");
  expect_config_error(repeat("scale: 2 upsample_h: 3", bottom), "belongs to an Upsample with a mask",
                      "upsample_param.upsample_h");
  expect_config_error(masked("scale: 1", bottom, 1), "a scale is below 2", "upsample_param.scale");
  expect_config_error(masked("upsample_h: 3", bottom, 1), "without a width", "upsample_param.upsample_h");
  expect_config_error(masked("scale_w: 3", bottom, 1), "without a width", "upsample_param.scale_h");
  expect_config_error(masked("scale: 2 scale_h: 2 scale_w: 2", bottom, 1), "stands beside", "upsample_param.scale_h");
  expect_config_error(masked("scale: 3 pad_out_w: true", bottom, 1), "the scale is not 2", "upsample_param.pad_out_w");
  expect_config_error(masked("upsample_h: 0 upsample_w: 2", bottom, 1), "the height would be 0", "upsample_param");
  expect_config_error({{"type: 'Upsample' bottom: 'x' bottom: 'm'"}, {bottom, {1, 2, 3, 3}}}, "must be the same");
  expect_config_error(repeat("", {2, 3, 4}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::upsample_test
