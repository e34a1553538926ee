// Accuracy and ArgMax.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test {
namespace {

Arrays forward(const std::string& layer, const std::vector<Shape>& bottoms, const Arrays& values, int tops = 1,
               DType dtype = DType::kF32) {
  KernelCase what{{layer}, bottoms};
  what.tops = tops;
  KernelHarness harness(what, {.dtype = dtype, .backward = false});
  harness.forward(values);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops();
}

Arrays accuracy(const std::string& param, const std::vector<Shape>& bottoms, const Arrays& values, int tops = 1) {
  return forward("type: 'Accuracy' accuracy_param { " + param + " }", bottoms, values, tops);
}

TEST(AccuracyTest, CountsHits) {
  const Array scores{3, 1, 2, 1, 3, 2, 2, 3, 1, 1, 2, 3};
  EXPECT_EQ(accuracy("", {{4, 3}, {4}}, {scores, {0, 1, 0, 2}})[0], Array{0.75});
  EXPECT_EQ(accuracy("top_k: 2", {{4, 3}, {4}}, {scores, {0, 1, 0, 2}})[0], Array{1});
  EXPECT_EQ(accuracy("ignore_label: 0", {{4, 3}, {4}}, {scores, {0, 0, 0, 2}})[0], Array{1});
  EXPECT_EQ(accuracy("ignore_label: 9", {{4, 3}, {4}}, {scores, {9, 9, 9, 9}})[0], Array{0});
}

TEST(AccuracyTest, PerClass) {
  const Array scores{3, 1, 2, 3, 1, 2, 1, 3, 2, 1, 3, 2};
  const Arrays tops = accuracy("", {{4, 3}, {4}}, {scores, {0, 1, 1, 1}}, 2);
  EXPECT_EQ(tops[0], Array{0.75});
  EXPECT_NEAR(tops[1][0], 1, 1e-7);
  EXPECT_NEAR(tops[1][1], 2.0 / 3, 1e-7);
  EXPECT_EQ(tops[1][2], 0);  // no sample
}

TEST(AccuracyTest, TiesAndNaNAreMisses) {
  EXPECT_EQ(accuracy("", {{1, 3}, {1}}, {{1, 1, 1}, {0}})[0], Array{0});
  EXPECT_EQ(accuracy("top_k: 2", {{1, 3}, {1}}, {{1, 1, 0}, {0}})[0], Array{1});
  EXPECT_EQ(accuracy("", {{2, 2}, {2}}, {{NAN, 1, 1, NAN}, {0, 0}})[0], Array{0});
}

TEST(AccuracyTest, ClassesAlongAnyAxis) {
  // Two samples, two classes, three positions.
  const Array scores{5, 0, 5, 0, 5, 0, 1, 1, 1, 2, 0, 2};
  EXPECT_EQ(accuracy("", {{2, 2, 3}, {2, 3}}, {scores, {0, 1, 1, 1, 0, 0}})[0][0], static_cast<float>(4.0 / 6));
  EXPECT_EQ(accuracy("axis: -1", {{2, 3}, {2}}, {{1, 2, 3, 3, 2, 1}, {2, 2}})[0], Array{0.5});
}

TEST(AccuracyTest, LabelOutOfRange) {
  const Error error = error_of([] { accuracy("", {{2, 3}, {2}}, {Array(6, 0.0), {0, 3}}); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(error.cause(), "label 3 at sample 6 is out of range 0..2"));
}

TEST(AccuracyTest, Errors) {
  expect_config_error({{"type: 'Accuracy'"}, {{4, 3}, {5}}}, "there are 5 labels", "bottom");
  expect_config_error({{"type: 'Accuracy' accuracy_param { axis: 2 }"}, {{4, 3}, {4}}}, "axis 2",
                      "accuracy_param.axis");
  for (const char* k : {"0", "4"}) {
    expect_config_error({{std::string("type: 'Accuracy' accuracy_param { top_k: ") + k + " }"}, {{4, 3}, {4}}}, "top_k",
                        "accuracy_param.top_k");
  }
}

Array argmax(const std::string& param, const Shape& bottom, const Array& values) {
  return forward("type: 'ArgMax' argmax_param { " + param + " }", {bottom}, {values})[0];
}

Shape argmax_shape(const std::string& param, const Shape& bottom) {
  const KernelCase what{{"type: 'ArgMax' argmax_param { " + param + " }"}, {bottom}};
  return KernelHarness(what, {.backward = false}).top_shapes()[0];
}

TEST(ArgMaxTest, OverWholeSamples) {
  const Array x{1, 5, 3, 9, 7, 8};
  EXPECT_EQ(argmax("", {2, 3}, x), (Array{1, 0}));
  EXPECT_EQ(argmax("top_k: 2", {2, 3}, x), (Array{1, 2, 0, 2}));
  EXPECT_EQ(argmax("top_k: 2 out_max_val: true", {2, 3}, x), (Array{1, 2, 5, 3, 0, 2, 9, 8}));
  EXPECT_EQ(argmax_shape("", {2, 3}), (Shape{2, 1, 1}));
  EXPECT_EQ(argmax_shape("top_k: 2 out_max_val: true", {2, 3, 4, 5}), (Shape{2, 2, 2, 1}));
}

TEST(ArgMaxTest, AlongAnAxis) {
  const Array x{1, 5, 3, 9, 7, 8};
  EXPECT_EQ(argmax("axis: 0", {2, 3}, x), (Array{1, 1, 1}));
  EXPECT_EQ(argmax("axis: -1 out_max_val: true", {2, 3}, x), (Array{5, 9}));
  EXPECT_EQ(argmax("axis: 0 top_k: 2", {2, 3}, x), (Array{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(argmax_shape("axis: 1 top_k: 2", {2, 3, 4}), (Shape{2, 2, 4}));
}

TEST(ArgMaxTest, TiesAndNaN) {
  EXPECT_EQ(argmax("top_k: 2", {1, 3}, {4, 4, 4}), (Array{2, 1}));
  EXPECT_EQ(argmax("top_k: 3", {1, 3}, {NAN, 4, NAN}), (Array{1, 2, 0}));
}

TEST(ArgMaxTest, Errors) {
  expect_config_error({{"type: 'ArgMax' argmax_param { top_k: 7 }"}, {{2, 3}}}, "top_k 7", "argmax_param.top_k");
  expect_config_error({{"type: 'ArgMax' argmax_param { top_k: 0 }"}, {{2, 3}}}, "top_k 0", "argmax_param.top_k");
  expect_config_error({{"type: 'ArgMax' argmax_param { axis: 2 }"}, {{2, 3}}}, "axis 2", "argmax_param.axis");
}

}  // namespace
}  // namespace robusta::test
