// Concat and Slice: pieces along an axis.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::concat_slice_test {
namespace {

const KernelCase kConcats[] = {
    {{"type: 'Concat'"}, {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}},
    {{"type: 'Concat' concat_param { axis: 0 }"}, {{2, 3}, {1, 3}}},
    {{"type: 'Concat' concat_param { axis: -1 }"}, {{2, 3, 2}, {2, 3, 4}}},
    {{"type: 'Concat' concat_param { concat_dim: 2 }"}, {{2, 3, 2}, {2, 3, 4}}},
    {{"type: 'Concat'"}, {{2, 3, 4}}},
    {{"type: 'Concat'"}, {{5, 16, 20, 21}, {5, 7, 20, 21}}},
};

KernelCase slice(const std::string& param, const Shape& bottom, int tops) {
  KernelCase what{{"type: 'Slice' slice_param { " + param + " }"}, {bottom}};
  what.tops = tops;
  return what;
}

const KernelCase kSlices[] = {
    slice("", {2, 6, 3}, 3),
    slice("slice_point: 1 slice_point: 4", {2, 6, 3}, 3),
    slice("axis: 0", {4, 3}, 2),
    slice("axis: -1 slice_point: 1", {2, 3, 4}, 2),
    slice("slice_dim: 2 slice_point: 3", {2, 3, 4}, 2),
    slice("", {2, 3, 4}, 1),
    slice("slice_point: 16", {5, 23, 20, 21}, 2),
};

bool is_small(const KernelCase& what) { return what.bottoms[0].count() < 1000; }

TEST(ConcatTest, Gradients) {
  for (const KernelCase& c : kConcats) {
    if (is_small(c)) check_gradients(c);
  }
}

TEST(ConcatTest, SinglePrecision) {
  for (const KernelCase& c : kConcats) compare_with_reference("reference", c);
}

TEST(ConcatTest, Gpu) {
  for (const KernelCase& c : kConcats) compare_gpu_with_reference(c);
  const std::vector<Shape> many(37, Shape{2, 3, 4, 5});  // more than one kernel copies
  for (const char* axis : {"0", "1", "2", "3"}) {
    compare_gpu_with_reference({{std::string("type: 'Concat' concat_param { axis: ") + axis + " }"}, many});
  }
  compare_gpu_with_reference({{"type: 'Concat'"}, {{2, 1, 3, 4}, {2, 5, 3, 4}}});
  compare_gpu_with_reference({{"type: 'Concat'"}, {{2, 16, 3, 4}, {2, 32, 3, 4}, {2, 8, 3, 4}}});
}

TEST(ConcatTest, Errors) {
  expect_config_error({{"type: 'Concat'"}, {{2, 3, 4}, {2, 3, 5}}}, "axis 1 only", "bottom");
  expect_config_error({{"type: 'Concat'"}, {{2, 3, 4}, {2, 3}}}, "axis 1 only", "bottom");
  expect_config_error({{"type: 'Concat' concat_param { axis: 3 }"}, {{2, 3}}}, "axis 3", "concat_param.axis");
  expect_config_error({{"type: 'Concat' concat_param { concat_dim: 2 }"}, {{2, 3}}}, "axis 2",
                      "concat_param.concat_dim");
  expect_config_error({{"type: 'Concat' concat_param { axis: 1 concat_dim: 1 }"}, {{2, 3}}}, "both given",
                      "concat_param.concat_dim");
}

TEST(SliceTest, Gradients) {
  for (const KernelCase& c : kSlices) {
    if (is_small(c)) check_gradients(c);
  }
}

TEST(SliceTest, SinglePrecision) {
  for (const KernelCase& c : kSlices) compare_with_reference("reference", c);
}

TEST(SliceTest, Gpu) {
  for (const KernelCase& c : kSlices) compare_gpu_with_reference(c);
  for (const char* axis : {"0", "1", "2", "3"}) {
    compare_gpu_with_reference(slice(std::string("axis: ") + axis, {4, 8, 2, 6}, 2));
  }
}

TEST(SliceTest, MissingGradientsAreZero) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(kSlices[2], {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
    EXPECT_EQ(harness.tops()[1], (Array{7, 8, 9, 10, 11, 12}));
    harness.backward({{}, {1, 2, 3, 4, 5, 6}});
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST(SliceTest, Errors) {
  expect_config_error(slice("", {2, 7}, 3), "equal parts", "slice_param.slice_point");
  expect_config_error(slice("slice_point: 1", {2, 7}, 3), "need 2 slice points", "slice_param.slice_point");
  for (const char* points : {"slice_point: 3 slice_point: 3", "slice_point: 4 slice_point: 2",
                             "slice_point: 0 slice_point: 2", "slice_point: 2 slice_point: 7"}) {
    expect_config_error(slice(points, {2, 7}, 3), "must rise", "slice_param.slice_point");
  }
  expect_config_error(slice("axis: 2", {2, 7}, 1), "axis 2", "slice_param.axis");
  expect_config_error(slice("axis: 1 slice_dim: 1", {2, 7}, 1), "both given", "slice_param.slice_dim");
}

}  // namespace
}  // namespace robusta::test::concat_slice_test
