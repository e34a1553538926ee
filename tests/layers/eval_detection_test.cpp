// EvalDetection.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::eval_detection_test {
namespace {

std::string layer_of(const std::string& param) {
  return "type: 'EvalDetection' eval_detection_param { " + param + " }";
}

constexpr char kMap[] = "side: 2 num_class: 2 num_object: 1 biases: 1 biases: 1 ";

/// A map of 2 x 2 pixels, one object at each, two classes. A number is [item][channel][row][column].
struct Map {
  int64_t items = 1;
  Array numbers, truth;

  explicit Map(int64_t n = 1) : items(n), numbers(static_cast<size_t>(n * 28)) {
    // Nobody sees an object.
    for (int64_t item = 0; item < n; ++item) {
      for (int64_t pixel = 0; pixel < 4; ++pixel) at(item, 4, pixel) = -20;
    }
  }
  double& at(int64_t item, int64_t channel, int64_t pixel) {
    return numbers[static_cast<size_t>((item * 7 + channel) * 4 + pixel)];
  }
  /// An object of the class with this score, which fills its pixel.
  void see(int64_t item, int64_t pixel, int64_t label, double score) {
    at(item, 4, pixel) = std::log(score / (1 - score));
    at(item, 5 + label, pixel) = 30;
  }
  Array judged(const std::string& backend, const std::string& param) const {
    KernelCase what{{layer_of(kMap + param)}, {{items, 7, 2, 2}, {1, 1, static_cast<int64_t>(truth.size()) / 8, 8}}};
    const DType type = backend == "reference" ? DType::kF64 : DType::kF32;
    KernelHarness harness(what, {.backend = backend, .dtype = type, .backward = false});
    harness.forward({numbers, truth});
    EXPECT_EQ(harness.damage(), "");
    return harness.tops()[0];
  }
  void expect_judged(const std::string& param, const Array& want) const {
    for (const char* backend : {"reference", "gpu"}) {
      const Array got = judged(backend, param);
      ASSERT_EQ(got.size(), want.size());
      expect_near(got, want, 1e-5, backend + (" " + param));
    }
  }
};

Map two_seen() {
  Map map(2);
  map.see(0, 0, 0, 0.75);
  map.see(0, 3, 1, 0.5);
  map.see(1, 1, 0, 0.25);
  // Classes count from 1: what lies in pixel 0, and something else; in item 1 nothing where it sees one.
  map.truth = {0, 1, 0, 0, 0, 0.5, 0.5, 0, 0, 1, 1, 0.5, 0.5, 1, 1, 0, 1, 1, 0, 0, 0, 0.5, 0.5, 0};
  return map;
}

TEST(EvalDetectionTest, ByHand) {
  two_seen().expect_judged("nms: 0.45", {2, 0, 0, 0.75, 1, 0, 1, 0.5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                         1, 0, 0, 0.25, 0, 1, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Array objects = two_seen().judged("reference", "nms: 0.45 score_type: OBJ");
  EXPECT_NEAR(objects[3], 0.75, 1e-6);
  const Array classes = two_seen().judged("reference", "nms: 0.45 score_type: PROB");
  EXPECT_NEAR(classes[3], 1, 1e-6);
}

/// x and y of 0 lie in the middle of the pixel, width and height of 0 are the biases, in pixels.
TEST(EvalDetectionTest, WhereBoxesLie) {
  Map map;
  map.see(0, 2, 0, 0.5);
  map.at(0, 0, 2) = -20, map.at(0, 1, 2) = 20;
  map.at(0, 2, 2) = std::log(0.5), map.at(0, 3, 2) = std::log(2.0);
  // Around x = 0, y = 1: a quarter wide, 1 high.
  map.truth = {0, 1, 0, -0.125, 0.5, 0.125, 1.5, 0};
  map.expect_judged("nms: 0.5 threshold: 0.99", {1, 0, 0, 0.5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(EvalDetectionTest, BoxesThatOverlapABetterOneGo) {
  Map map;
  map.see(0, 0, 0, 0.5);
  map.see(0, 1, 1, 0.75);
  map.at(0, 0, 1) = -20;  // its centre lies between both pixels: they overlap by 1/3
  map.truth = {0, 1, 0, 0, 0, 0.5, 0.5, 0};
  map.expect_judged("nms: 0.3", {1, 0, 1, 0.75, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  map.expect_judged("nms: 0.4", {1, 0, 0, 0.5, 1, 0, 1, 0.75, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  // Two of one class on one box: the second is wrong.
  Map twice;
  twice.see(0, 0, 0, 0.5);
  twice.see(0, 1, 0, 0.75);
  twice.at(0, 0, 1) = -2;
  twice.truth = {0, 1, 0, 0, 0, 0.7, 0.5, 0};
  twice.expect_judged("nms: 0.9 threshold: 0.4", {1, 0, 0, 0.75, 1, 0, 0, 0.5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(EvalDetectionTest, WithoutSuppressionAllStay) {
  const Array all = two_seen().judged("reference", "");
  for (size_t item = 0; item < 2; ++item) {
    for (size_t box = 0; box < 4; ++box) {
      const double* row = all.data() + item * 18 + 2 + box * 4;
      EXPECT_EQ(row[2] + row[3], 1) << item << " " << box;
    }
  }
}

TEST(EvalDetectionTest, BadRows) {
  const auto expect_bad = [](const Array& truth, const std::string& cause) {
    for (const char* backend : {"reference", "gpu"}) {
      Map map;
      map.truth = truth;
      const Error error = error_of([&] { map.judged(backend, "nms: 0.45"); });
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_TRUE(contains(error.cause(), cause)) << backend;
    }
  };
  expect_bad({1, 1, 0, 0, 0, 1, 1, 0}, "row 0 of bottom 1 is of item 1, but items are 0..0");
  expect_bad({0, 3, 0, 0, 0, 1, 1, 0}, "row 0 of bottom 1 is of class 3, but classes are 0..2");
  expect_bad({0, 0, 0, 0, 0, 1, 1, 0}, "row 0 of bottom 1 is of class 0, which is the background");
}

TEST(EvalDetectionTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error({{layer_of(param)}, {{1, 7, 2, 2}, {1, 1, 1, 8}}}, cause, "eval_detection_param." + field);
  };
  expect_refused("side: 0", "side is 0", "side");
  expect_refused("num_class: 0", "num_class is 0", "num_class");
  expect_refused("num_object: 0", "num_object is 0", "num_object");
  expect_refused("biases: 1", "there are 1 biases, and num_object is 2", "biases");
  expect_refused("num_object: 1 biases: 1 biases: -1", "one of the biases is -1", "biases");
  expect_refused("num_object: 1 biases: 1 biases: 1 nms: nan", "nms is nan", "nms");
  expect_refused("num_object: 1 biases: 1 biases: 1 threshold: nan", "threshold is nan", "threshold");
  expect_config_error({{layer_of(kMap)}, {{1, 7, 2, 3}, {1, 1, 1, 8}}}, "but 7 channels of 2 x 2 pixels are wanted",
                      "bottom");
  expect_config_error({{layer_of(kMap)}, {{1, 7, 2, 2}, {1, 1, 1, 7}}}, "bottom 1 has shape 1 1 1 7 (7)", "bottom");
}

}  // namespace
}  // namespace robusta::test::eval_detection_test
