// SegAccuracy. Expected numbers by hand.

#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::seg_accuracy_test {
namespace {

KernelCase seg_accuracy(const Shape& scores, const Shape& labels, const std::string& param = "") {
  KernelCase what{{"type: 'SegAccuracy' seg_accuracy_param { " + param + " }"}, {scores, labels}};
  what.bottom_values = [](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) values.push_back(static_cast<double>(i % 3));
    return values;
  };
  return what;
}

/// Of one row of pixels with three classes.
Array shares(const std::string& backend, const Array& scores, const Array& labels, const std::string& param = "") {
  const auto width = static_cast<int64_t>(labels.size());
  KernelHarness harness(seg_accuracy({1, 3, 1, width}, {1, 1, 1, width}, param),
                        {.backend = backend, .dtype = DType::kF32, .backward = false});
  harness.forward({scores, labels});
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

/// Scores that take four pixels for classes 0, 1, 1 and 2, the last by a tie with class 0.
const Array kScores{5, 0, 0, 7,  //
                    0, 5, 5, 0,  //
                    0, 0, 0, 7};

TEST(SegAccuracyTest, CountsPixelsClassesAndOverlaps) {
  for (const char* backend : {"reference", "gpu"}) {
    // Class 0: 1 of 1 found; class 1: 1 of 2; class 2: 1 of 1, and taken for it is no other.
    expect_near(shares(backend, kScores, {0, 1, 1, 2}), {1, 1, 1}, 1e-6, backend);
    expect_near(shares(backend, kScores, {0, 1, 0, 2}), {3.0 / 4, (0.5 + 1 + 1) / 3, (0.5 + 0.5 + 1) / 3}, 1e-6,
                backend);
    // No pixel is of class 2, but one is taken for it.
    expect_near(shares(backend, kScores, {0, 1, 1, 0}), {3.0 / 4, (0.5 + 1) / 2, (0.5 + 1 + 0) / 3}, 1e-6, backend);
  }
}

TEST(SegAccuracyTest, LeavesOutIgnoredLabels) {
  const std::string ignored = "ignore_label: 255 ignore_label: -1";
  for (const char* backend : {"reference", "gpu"}) {
    expect_near(shares(backend, kScores, {255, 1, 0, -1}, ignored), {0.5, 0.5, (0 + 0.5 + 1) / 3}, 1e-6, backend);
    expect_near(shares(backend, kScores, {255, 255, -1, -1}, ignored), {0, 0, 1}, 1e-6, backend);
  }
}

TEST(SegAccuracyTest, WhatIsNoNumberIsNeverTaken) {
  Array scores = kScores;
  scores[0] = NAN;
  for (const int i : {1, 5, 9}) scores[static_cast<size_t>(i)] = NAN;
  for (const char* backend : {"reference", "gpu"}) {
    // Pixel 0 is taken for class 2 then, by a tie of zeros, and pixel 1 for none.
    expect_near(shares(backend, scores, {0, 1, 1, 2}), {0.5, (0 + 0.5 + 1) / 3, (0 + 0.5 + 0.5) / 3}, 1e-6, backend);
  }
}

TEST(SegAccuracyTest, Kernels) {
  for (const KernelCase& c : {seg_accuracy({2, 3, 5, 7}, {2, 1, 5, 7}), seg_accuracy({4, 6}, {4}),
                              seg_accuracy({2, 5, 131, 97}, {2, 1, 131, 97}, "ignore_label: 1")}) {
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(SegAccuracyTest, LabelOutOfRange) {
  const Pass pass{.seed = 0, .first_sample = 8, .next_sample = 10, .batch = 2};
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(seg_accuracy({2, 3, 1, 2}, {2, 1, 1, 2}, "ignore_label: 255"),
                          {.backend = backend, .dtype = DType::kF32, .backward = false, .pass = pass});
    for (const double label : {3.0, -1.0, static_cast<double>(NAN)}) {
      const Error error = error_of([&] { harness.forward({Array(12, 0.0), {0, 255, 1, label}}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_EQ(error.cause(), str("label ", label, " at sample 9 is out of range 0..2")) << backend;
    }
  }
}

TEST(SegAccuracyTest, Errors) {
  expect_config_error(seg_accuracy({2, 3, 4, 4}, {2, 3, 4, 4}), "there are 96 labels", "bottom");
  expect_config_error(seg_accuracy({2}, {2}), "further axes", "bottom");
  const Error error = error_of([&] { KernelHarness(seg_accuracy({2, 3}, {2}, "reset: false"), {}); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.field(), "seg_accuracy_param.reset");
}

}  // namespace
}  // namespace robusta::test::seg_accuracy_test
