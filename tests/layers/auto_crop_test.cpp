// AutoCrop's kernels. Where it crops the net says: tests/net/alignment_test.cpp.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::auto_crop_test {
namespace {

const KernelCase kAutoCrop{{"type: 'AutoCrop'"}, {{2, 3, 5, 6}, {2, 1, 3, 4}}};

TEST(AutoCropTest, TakesTheSizeOfTheSecond) {
  EXPECT_EQ(KernelHarness(kAutoCrop, {}).top_shapes()[0], (Shape{2, 3, 3, 4}));
}

TEST(AutoCropTest, Gradients) { check_gradients(kAutoCrop); }
TEST(AutoCropTest, SinglePrecision) { compare_with_reference("reference", kAutoCrop); }
TEST(AutoCropTest, Native) { compare_with_reference("native", kAutoCrop); }
TEST(AutoCropTest, Gpu) { compare_gpu_with_reference(kAutoCrop); }

TEST(AutoCropTest, Errors) {
  expect_config_error({{"type: 'AutoCrop'"}, {{2, 3, 5, 6}, {2, 3, 6, 6}}}, "ends before bottom 1", "bottom");
  expect_config_error({{"type: 'AutoCrop'"}, {{2, 3, 5, 6}, {2, 3, 5}}}, "the bottoms have shapes", "bottom");
}

}  // namespace
}  // namespace robusta::test::auto_crop_test
