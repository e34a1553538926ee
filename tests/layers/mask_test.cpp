// MaskPooling and MaskResize. Expected numbers by hand.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::mask_test {
namespace {

const KernelCase kPooled[] = {{{"type: 'MaskPooling'"}, {{2, 3, 4, 5}, {2, 1, 4, 5}}},
                              {{"type: 'MaskPooling'"}, {{1, 1, 1, 1}, {1, 1, 1, 1}}}};

KernelCase resized(int height, int width, const Shape& bottom) {
  return {{"type: 'MaskResize' mask_resize_param { output_height: " + std::to_string(height) +
           " output_width: " + std::to_string(width) + " }"},
          {bottom}};
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all(std::begin(kPooled), std::end(kPooled));
  for (const auto& [height, width] : {std::pair{7, 5}, std::pair{2, 3}, std::pair{1, 1}, std::pair{4, 6}}) {
    all.push_back(resized(height, width, {2, 3, 4, 6}));
  }
  return all;
}

TEST(MaskTest, FeaturesAreMultipliedByTheMaskOfTheirRegion) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness({{"type: 'MaskPooling'"}, {{2, 2, 1, 2}, {2, 1, 1, 2}}},
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 10, 100}});
    EXPECT_EQ(harness.tops()[0], (Array{0, 2, 0, 4, 50, 600, 70, 800})) << backend;
    harness.backward({Array(8, 1.0)});
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 1, 0, 1, 10, 100, 10, 100})) << backend;
    EXPECT_EQ(harness.bottom_diffs()[1], (Array{4, 6, 12, 14})) << backend;
  }
}

TEST(MaskTest, ResizingMixesNeighbours) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(resized(1, 4, {1, 1, 1, 6}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{0, 2, 4, 6, 8, 10}});
    EXPECT_EQ(harness.tops()[0], (Array{0, 3, 6, 9})) << backend;
  }
}

TEST(MaskTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(MaskTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(MaskTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

TEST(MaskTest, Errors) {
  expect_config_error({{"type: 'MaskPooling'"}, {{2, 3, 4, 5}, {2, 3, 4, 5}}}, "bottom 1", "bottom");
  expect_config_error({{"type: 'MaskPooling'"}, {{2, 3}, {2, 1}}}, "bottom 0", "bottom");
  expect_config_error(resized(0, 3, {1, 1, 2, 2}), "output_height", "mask_resize_param.output_height");
  expect_config_error(resized(3, 3, {1, 2, 2}), "four axes");
}

}  // namespace
}  // namespace robusta::test::mask_test
