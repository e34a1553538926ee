// Interp.

#include <gtest/gtest.h>

#include <limits>

#include "support/kernel_checks.h"

namespace robusta::test::interp_test {
namespace {

KernelCase interp(const std::string& param, const Shape& bottom) {
  return {{"type: 'Interp' interp_param { " + param + " }"}, {bottom}};
}

const KernelCase kCases[] = {
    interp("height: 7 width: 5", {2, 3, 4, 3}),
    interp("height: 3 width: 2", {1, 8, 7, 6}),
    interp("zoom_factor: 4", {2, 2, 3, 4}),
    interp("shrink_factor: 3", {2, 2, 7, 9}),
    interp("shrink_factor: 2 zoom_factor: 3", {1, 2, 6, 5}),
    interp("zoom_factor: 2 pad_beg: -1 pad_end: -2", {1, 2, 6, 5}),
    interp("height: 1 width: 4", {1, 2, 5, 1}),
    interp("height: 4 width: 5", {2, 16, 4, 5}),
};

KernelCase to_size_of(const Shape& other, const Shape& bottom, const std::string& more = "") {
  return {{"type: 'Interp' interp_param { use_blob_size: true " + more + " }"}, {bottom, other}};
}

Shape size(const std::string& param, const Shape& bottom) {
  return KernelHarness(interp(param, bottom), {}).top_shapes()[0];
}

TEST(InterpTest, Sizes) {
  EXPECT_EQ(size("zoom_factor: 8", {1, 2, 41, 31}), (Shape{1, 2, 321, 241}));
  EXPECT_EQ(size("shrink_factor: 8", {1, 2, 321, 240}), (Shape{1, 2, 41, 30}));
  EXPECT_EQ(size("shrink_factor: 2 zoom_factor: 3", {1, 1, 6, 5}), (Shape{1, 1, 7, 7}));
  EXPECT_EQ(size("zoom_factor: 1 pad_beg: -1", {1, 1, 6, 5}), (Shape{1, 1, 5, 4}));
}

TEST(InterpTest, TakesTheSizeOfAnotherBlob) {
  const KernelCase what = to_size_of({2, 7, 5, 9}, {2, 3, 4, 6});
  EXPECT_EQ(KernelHarness(what, {}).top_shapes()[0], (Shape{2, 3, 5, 9}));
  check_gradients(what);
  compare_with_reference("reference", what);
  compare_gpu_with_reference(what);
  expect_config_error(to_size_of({2, 7, 5}, {2, 3, 4, 6}), "takes an input of batch, channels", "");
  expect_config_error(to_size_of({2, 7, 5, 9}, {2, 3, 4, 6}, "zoom_factor: 2"), "another one is given",
                      "interp_param.use_blob_size");
  expect_config_error(interp("use_blob_size: true", {2, 3, 4, 6}), "no second bottom", "interp_param.use_blob_size");
  expect_config_error({{"type: 'Interp' interp_param { height: 2 width: 3 }"}, {{1, 1, 2, 2}, {1, 1, 2, 2}}},
                      "for its size alone", "interp_param.use_blob_size");
}

TEST(InterpTest, KeepsCorners) {
  KernelHarness harness(interp("height: 1 width: 5", {1, 1, 1, 3}), {});
  harness.forward({{0, 2, 10}});
  EXPECT_EQ(harness.tops()[0], (Array{0, 1, 2, 6, 10}));
  harness.backward({{1, 1, 1, 1, 1}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{1.5, 2, 1.5}));
}

TEST(InterpTest, CutsMarginsOff) {
  KernelHarness harness(interp("height: 1 width: 3 pad_beg: -1 pad_end: -1", {1, 1, 3, 4}), {});
  harness.forward({{0, 0, 0, 0, 9, 1, 3, 9, 0, 0, 0, 0}});
  EXPECT_EQ(harness.tops()[0], (Array{1, 2, 3}));
  harness.backward({{1, 1, 1}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 0, 0, 0, 0, 1.5, 1.5, 0, 0, 0, 0, 0}));
}

/// What has no share in a pixel leaves it alone.
TEST(InterpTest, InfinityStaysWhereItIs) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(interp("height: 1 width: 3", {1, 1, 1, 2}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, infinity}});
    EXPECT_EQ(harness.tops()[0], (Array{1, infinity, infinity})) << backend;
  }
}

TEST(InterpTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(InterpTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(InterpTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(InterpTest, Errors) {
  const Shape bottom{1, 2, 4, 5};
  expect_config_error(interp("", bottom), "neither a size nor a factor", "interp_param.height");
  expect_config_error(interp("height: 3", bottom), "given together", "interp_param.height");
  expect_config_error(interp("height: 3 width: 3 zoom_factor: 2", bottom), "both a size and a factor",
                      "interp_param.height");
  expect_config_error(interp("zoom_factor: 0", bottom), "zoom_factor is 0", "interp_param.zoom_factor");
  expect_config_error(interp("shrink_factor: -1", bottom), "shrink_factor is -1", "interp_param.shrink_factor");
  expect_config_error(interp("height: 0 width: 3", bottom), "the height would be 0", "interp_param.height");
  expect_config_error(interp("zoom_factor: 2 pad_end: 1", bottom), "cannot be added", "interp_param.pad_end");
  expect_config_error(interp("zoom_factor: 2 pad_beg: -4", bottom), "nothing is left", "interp_param.pad_beg");
  expect_config_error(interp("zoom_factor: 2", {2, 3, 4}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::interp_test
