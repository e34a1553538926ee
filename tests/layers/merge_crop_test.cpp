// MergeCrop.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::merge_crop_test {
namespace {

KernelCase merge(const std::string& param, const Shape& first, const Shape& second) {
  return {{"type: 'MergeCrop' mergecrop_param { " + param + " }"}, {first, second}};
}

const KernelCase kMerged[] = {
    merge("backward: true backward: true", {2, 3, 3, 4}, {2, 2, 5, 7}),
    merge("backward: true backward: true operation: ADD", {2, 3, 3, 4}, {2, 3, 5, 7}),
    merge("backward: true backward: true", {1, 1, 2, 3, 2}, {1, 3, 4, 3, 3}),
    merge("backward: false backward: true forward: false forward: true", {2, 3, 4}, {2, 1, 6}),
    merge("backward: true backward: true", {2, 3}, {2, 4}),
};

TEST(MergeCropTest, Stacks) {
  KernelHarness harness(merge("", {1, 1, 2}, {1, 1, 5}), {});
  harness.forward({{1, 2}, {3, 4, 5, 6, 7}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 2, 4, 5}));
  harness.backward({{1, 2, 3, 4}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{1, 2}));
  EXPECT_FALSE(harness.wants_bottom(1)) << "unless `backward` says so";
}

TEST(MergeCropTest, Adds) {
  KernelHarness harness(merge("operation: ADD backward: true backward: true", {1, 1, 2}, {1, 1, 4}), {});
  harness.forward({{1, 2}, {3, 4, 5, 6}});
  EXPECT_EQ(harness.tops()[0], (Array{5, 7}));
  harness.backward({{1, 2}});
  EXPECT_EQ(harness.bottom_diffs()[1], (Array{0, 1, 2, 0}));
}

TEST(MergeCropTest, WhatDoesNotCountIsZero) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(merge("forward: true forward: false", {1, 1, 2}, {1, 1, 2}),
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, 2}, {3, 4}});
    EXPECT_EQ(harness.tops()[0], (Array{1, 2, 0, 0})) << backend;
  }
}

TEST(MergeCropTest, Gradients) {
  for (const KernelCase& c : kMerged) check_gradients(c);
}

TEST(MergeCropTest, SinglePrecision) {
  for (const KernelCase& c : kMerged) compare_with_reference("reference", c);
}

TEST(MergeCropTest, Gpu) {
  for (const KernelCase& c : kMerged) compare_gpu_with_reference(c);
}

TEST(MergeCropTest, Errors) {
  expect_config_error(merge("", {2, 3, 4}, {2, 3, 3}), "axis 2 of bottom 1", "bottom");
  expect_config_error(merge("", {2, 3, 4}, {1, 3, 4}), "have shapes", "bottom");
  expect_config_error(merge("operation: ADD", {2, 3, 4}, {2, 2, 4}), "have shapes", "bottom");
  expect_config_error(merge("forward: true forward: true forward: true", {2, 3, 4}, {2, 3, 4}), "3 values",
                      "mergecrop_param.forward");
}

}  // namespace
}  // namespace robusta::test::merge_crop_test
