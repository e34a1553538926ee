// Accuracy and ArgMax.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::accuracy_argmax_test {
namespace {

/// By the reference kernel, and by the GPU's with equal results.
Arrays forward(const std::string& layer, const std::vector<Shape>& bottoms, const Arrays& values, int tops = 1) {
  KernelCase what{{layer}, bottoms};
  what.tops = tops;
  Arrays results;
  for (const char* backend : {"gpu", "reference"}) {
    KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32, .backward = false});
    harness.forward(values);
    EXPECT_EQ(harness.damage(), "") << backend;
    if (!results.empty()) {
      EXPECT_EQ(harness.tops(), results) << layer;
    }
    results = harness.tops();
  }
  return results;
}

/// Labels 0, 1, ..., last, 0, ... as bottom 1.
KernelCase scores_and_labels(const std::string& param, const Shape& scores, const Shape& labels, int last, int tops) {
  KernelCase what{{"type: 'Accuracy' accuracy_param { " + param + " }"}, {scores, labels}};
  what.tops = tops;
  what.bottom_values = [last](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) values.push_back(static_cast<double>(i % (last + 1)));
    return values;
  };
  return what;
}

TEST(AccuracyTest, Gpu) {
  for (int tops : {1, 2}) {
    compare_gpu_with_reference(scores_and_labels("top_k: 5", {64, 1000}, {64}, 999, tops), 1e-7);
    compare_gpu_with_reference(scores_and_labels("ignore_label: 3", {3, 3, 5, 7}, {3, 5, 7}, 3, tops), 1e-7);
    compare_gpu_with_reference(scores_and_labels("axis: -1 top_k: 2", {3, 5, 7}, {3, 5}, 6, tops), 1e-7);
    // Positions enough for a thread each, and for a sum in parts.
    compare_gpu_with_reference(scores_and_labels("", {2, 3, 91, 97}, {2, 91, 97}, 2, tops), 1e-7);
  }
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
  for (const char* backend : {"reference", "gpu"}) {
    KernelCase what{{"type: 'Accuracy'"}, {{2, 3}, {2}}};
    KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32, .backward = false});
    const Error error = error_of([&] { harness.forward({Array(6, 0.0), {0, 3}}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
    EXPECT_EQ(error.cause(), "label 3 at sample 6 is out of range 0..2") << backend;
  }
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

TEST(ArgMaxTest, Gpu) {
  for (const char* param : {"", "top_k: 5 out_max_val: true", "axis: 1 top_k: 3", "axis: -1 out_max_val: true"}) {
    const std::string layer = std::string("type: 'ArgMax' argmax_param { ") + param + " }";
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 6, 4, 5}, Shape{2, 3, 9001}}) {
      compare_gpu_with_reference({{layer}, {shape}}, 1e-7);
    }
  }
}

TEST(ArgMaxTest, Errors) {
  expect_config_error({{"type: 'ArgMax' argmax_param { top_k: 7 }"}, {{2, 3}}}, "top_k 7", "argmax_param.top_k");
  expect_config_error({{"type: 'ArgMax' argmax_param { top_k: 0 }"}, {{2, 3}}}, "top_k 0", "argmax_param.top_k");
  expect_config_error({{"type: 'ArgMax' argmax_param { axis: 2 }"}, {{2, 3}}}, "axis 2", "argmax_param.axis");
}

}  // namespace
}  // namespace robusta::test::accuracy_argmax_test
