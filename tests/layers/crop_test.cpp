// Crop.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::crop_test {
namespace {

KernelCase crop(const std::string& param, const Shape& bottom, const Shape& size) {
  return {{"type: 'Crop' crop_param { " + param + " }"}, {bottom, size}};
}

const KernelCase kCrops[] = {
    crop("", {2, 3, 5, 6}, {2, 3, 3, 4}),
    crop("axis: 1 offset: 1 offset: 0 offset: 2", {2, 3, 5, 6}, {2, 2, 3, 4}),
    crop("axis: 0 offset: 1", {3, 4, 4}, {2, 3, 2}),
    crop("axis: -1 offset: 4", {2, 3, 6}, {9, 9, 1}),
    crop("offset: 2", {1, 16, 6, 7}, {1, 5, 4, 3}),
    crop("", {2, 3, 5, 6}, {2, 3, 5, 6}),
};

TEST(CropTest, TakesThePartAtTheOffset) {
  KernelHarness harness(crop("axis: 0 offset: 0 offset: 1", {2, 3}, {1, 2}), {});
  harness.forward({{1, 2, 3, 4, 5, 6}, {0, 0}});
  EXPECT_EQ(harness.tops()[0], (Array{2, 3}));
  harness.backward({{7, 8}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 7, 8, 0, 0, 0}));
  EXPECT_FALSE(harness.wants_bottom(1));
}

TEST(CropTest, Gradients) {
  for (const KernelCase& c : kCrops) check_gradients(c);
}

TEST(CropTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : kCrops) compare_with_reference(backend, c);
  }
}

TEST(CropTest, Gpu) {
  for (const KernelCase& c : kCrops) compare_gpu_with_reference(c);
}

TEST(CropTest, Errors) {
  expect_config_error(crop("", {2, 3, 5}, {2, 3, 6}), "has no 6 entries from offset 0 on", "crop_param.offset");
  expect_config_error(crop("offset: 3", {2, 3, 5}, {2, 3, 3}), "from offset 3 on", "crop_param.offset");
  expect_config_error(crop("offset: 4294967295", {2, 3, 5}, {2, 3, 3}), "offset 4294967295", "crop_param.offset");
  expect_config_error(crop("axis: 1 offset: 1 offset: 1 offset: 1", {2, 3, 5}, {2, 3, 3}), "3 offsets for 2",
                      "crop_param.offset");
  expect_config_error(crop("axis: 1", {2, 3, 5}, {2, 3}), "fewer axes", "bottom");
  expect_config_error(crop("axis: 3", {2, 3, 5}, {2, 3, 5}), "axis 3", "crop_param.axis");
}

}  // namespace
}  // namespace robusta::test::crop_test
