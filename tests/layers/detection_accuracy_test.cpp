// DetectionAccuracy.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::detection_accuracy_test {
namespace {

const std::string kField = "field_w: 16 field_h: 24 downsample_rate: 8 ";

KernelCase accuracy(const std::string& param, const std::vector<Shape>& shapes, const Arrays& bottoms,
                    const std::string& more = "") {
  KernelCase what{{"type: 'DetectionAccuracy' " + more + " detection_accuracy_param { " + kField + param + " }"},
                  shapes};
  what.tops = 2;
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

Arrays tops_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {})});
  EXPECT_EQ(harness.damage(), "");
  harness.kernel().check({.seed = 7, .first_sample = 5, .next_sample = 9, .batch = 1});
  return harness.tops();
}

void expect_tops(const KernelCase& what, const Array& shares, double overlap) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, what);
    expect_near(tops[0], shares, 1e-5, backend);
    expect_near(tops[1], {overlap}, 1e-5, backend);
  }
}

const std::vector<Shape> kFour{{1, 7, 1, 4}, {1, 6, 1, 4}};

/// Three classes, codes of 0.
Array predictions(const Array& scores) {
  Array values = scores;
  values.resize(28, 0.0);
  return values;
}

TEST(DetectionAccuracyTest, SharesOfCellsAndOfObjects) {
  // An object that is found, one that is not, background that is found, and a cell that is nothing. The first box is
  // the field around (4, 4); the second is the right half of the one around (12, 4).
  const Array scores{0, 5, 1, 0, /**/ 3, 1, 0, 0, /**/ 1, 2, 0, 9};
  const Array truth{1,       2, 0, 0, /**/ 4,  16, 0, 0, /**/ 4, 4, 0,   0,
                    /**/ 16, 8, 0, 0, /**/ 24, 24, 0, 0, /**/ 1, 1, 0.1, 0.5};
  expect_tops(accuracy("cls_num: 3", kFour, {predictions(scores), truth}), {2.0 / 3, 0.5}, 0.75);
  expect_tops(accuracy("cls_num: 3 top_k: 2", kFour, {predictions(scores), truth}), {1, 1}, 0.75);
  expect_tops(accuracy("cls_num: 3 bg_threshold: 0.6", kFour, {predictions(scores), truth}), {0.5, 0.5}, 0.75);
  expect_tops(accuracy("cls_num: 3", kFour, {predictions(scores), truth}, "loss_param { ignore_label: 2 }"), {1, 1}, 1);
}

TEST(DetectionAccuracyTest, CodesAreUndoneAndCut) {
  Array values(6, 0.0), truth{1, 8, 4, 8, 24, 1};
  values[1] = 1;
  values[2] = 9, values[4] = -9;
  const std::vector<Shape> one{{1, 6, 1, 1}, {1, 6, 1, 1}};
  // Shifted by a quarter of the field's width of 16, and half as wide.
  expect_tops(accuracy("cls_num: 2", one, {values, truth}), {1, 1}, 1);
  values[2] = 0.5, values[4] = -std::log(2.0);
  const std::string statistics =
      "bbox_reg_param { bbox_mean: 0.125 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.25 bbox_std: 1 bbox_std: 1 "
      "bbox_std: 1 }";
  expect_tops(accuracy("cls_num: 2", one, {values, truth}, statistics), {1, 1}, 1);
}

TEST(DetectionAccuracyTest, TheLastOfEqualScoresIsLargerAndNoNumberIsNeverFound) {
  const Array truth{1,       2,  0, 1,  /**/ 4,  12, 0, 4,  /**/ 4, 4, 0, 4,
                    /**/ 16, 16, 0, 16, /**/ 24, 24, 0, 24, /**/ 1, 1, 0, 1};
  const Array scores{0, 0, 0, 0, /**/ 2, 2, 0, NAN, /**/ 2, 2, 0, 0};
  // Of class 1 and 2 the latter is found, of the background neither, nor what is no number.
  expect_tops(accuracy("cls_num: 3", kFour, {predictions(scores), truth}), {0.25, 1.0 / 3}, 2.0 / 3);
}

TEST(DetectionAccuracyTest, AShareOfNothingIsMinusOne) {
  Array truth(6, 0.0);
  expect_tops(accuracy("cls_num: 2", {{1, 6, 1, 1}, {1, 6, 1, 1}}, {Array(6, 0.0), truth}), {0, -1}, -1);
  truth[5] = 0.7;
  expect_tops(accuracy("cls_num: 2", {{1, 6, 1, 1}, {1, 6, 1, 1}}, {Array(6, 0.0), truth}), {-1, -1}, -1);
}

TEST(DetectionAccuracyTest, OneTopAndManyCells) {
  std::mt19937_64 random(3);
  Array values(2 * 8 * 30 * 90), truth(2 * 6 * 30 * 90);
  const auto uniform = [&](double low, double high) {
    return static_cast<double>(static_cast<float>(std::uniform_real_distribution(low, high)(random)));
  };
  for (double& value : values) value = uniform(-1, 1);
  for (size_t i = 0; i < truth.size(); ++i) {
    const size_t k = i / 2700 % 6;
    truth[i] = k == 0 ? std::floor(uniform(0, 4)) : k == 5 ? uniform(0, 1) : uniform(5, 40);
  }
  KernelCase what = accuracy("cls_num: 4", {{2, 8, 30, 90}, {2, 6, 30, 90}}, {values, truth});
  compare_with_reference("reference", what);
  compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
  what.tops = 1;
  compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
}

TEST(DetectionAccuracyTest, Errors) {
  const auto refused = [](const std::string& param, const std::string& field) {
    expect_config_error(accuracy(param, {{1, 6, 2, 2}, {1, 6, 2, 2}}, {}), "", "detection_accuracy_param." + field);
  };
  refused("", "cls_num");
  refused("cls_num: 2 top_k: 0", "top_k");
  refused("cls_num: 2 top_k: 3", "top_k");
  expect_config_error(accuracy("cls_num: 2", {{1, 6, 2, 2}, {1, 1, 2, 2}}, {}), "", "bottom");
  for (const char* backend : {"reference", "gpu"}) {
    Array truth(24, 0.0);
    truth[7] = 1;
    const auto with = [&](size_t at, double number) {
      Array values = truth;
      values[at] = number;
      const KernelCase what = accuracy("cls_num: 2", {{1, 6, 2, 4}, {1, 6, 2, 4}}, {Array(48, 0.0), values});
      return error_of([&] { tops_of(backend, what); });
    };
    truth.resize(48, 1.0);
    EXPECT_EQ(with(7, 2).cause(), "label 2 at sample 5 is out of range 0..1") << backend;
    EXPECT_EQ(with(8 * 3 + 7, NAN).cause(), "the width is nan in row 1, column 3 of the truth of sample 5") << backend;
    EXPECT_EQ(with(8 * 4 + 7, -2).cause(), "the height is -2 in row 1, column 3 of the truth of sample 5") << backend;
  }
}

}  // namespace
}  // namespace robusta::test::detection_accuracy_test
