// BboxAccuracy.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::bbox_accuracy_test {
namespace {

KernelCase accuracy(int64_t regions, int64_t codes, const Arrays& bottoms, const std::string& param = "") {
  KernelCase what{{"type: 'BboxAccuracy' " + param}, {{regions, codes, 1, 1}, {regions, 5, 1, 1}, {regions, 6, 1, 1}}};
  what.tops = 2;
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

Arrays tops_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {}), what.bottom_values(2, {})});
  EXPECT_EQ(harness.damage(), "");
  harness.kernel().check({.batch = 1});
  return harness.tops();
}

void expect_tops(const KernelCase& what, double moved, double given) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, what);
    expect_near(tops[0], {moved}, 1e-5, backend);
    expect_near(tops[1], {given}, 1e-5, backend);
  }
}

/// A region of 10 x 20 pixels at (10, 20), and a box of the same size 5 to the right.
const Array kRegion{0, 10, 20, 19, 39};
Array match(double label, double overlap = 0.3) { return {label, 15, 20, 24, 39, overlap}; }

TEST(BboxAccuracyTest, CodesMoveRegions) {
  // Of 15 columns 5 are common.
  expect_tops(accuracy(1, 12, {Array(12, 0.0), kRegion, match(2)}), 1.0 / 3, 1.0 / 3);
  Array codes(12, 0.0);
  codes[8] = 0.5;
  expect_tops(accuracy(1, 12, {codes, kRegion, match(2)}), 1, 1.0 / 3);
  codes[10] = std::log(2.0), codes[11] = -std::log(2.0);
  // 20 x 10 around the middle of the box: half of either is common.
  expect_tops(accuracy(1, 12, {codes, kRegion, match(2)}), 100.0 / 300, 1.0 / 3);
  // Codes of another class are not looked at.
  expect_tops(accuracy(1, 12, {codes, kRegion, match(1)}), 1.0 / 3, 1.0 / 3);
}

TEST(BboxAccuracyTest, OneCodeForAllClassesAndStatistics) {
  Array codes(8, 0.0);
  codes[4] = 5;
  const std::string statistics =
      "bbox_reg_param { cls_aware: false bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.1 bbox_std: "
      "0.1 bbox_std: 0.2 bbox_std: 0.2 }";
  expect_tops(accuracy(1, 8, {codes, kRegion, match(4)}, statistics), 1, 1.0 / 3);
}

TEST(BboxAccuracyTest, OnlyObjectsThatAreNotThereAlreadyCount) {
  Array regions, matches;
  for (const Array& one : {match(1), match(0), match(1, 0.98), match(-1)}) {
    regions.insert(regions.end(), kRegion.begin(), kRegion.end());
    matches.insert(matches.end(), one.begin(), one.end());
  }
  Array codes(32, 0.0);
  codes[4] = 0.5;
  codes[20] = 9;
  expect_tops(accuracy(4, 8, {codes, regions, matches}), 1, 1.0 / 3);
  expect_tops(accuracy(1, 8, {Array(8, 0.0), kRegion, match(0)}), -1, -1);
}

TEST(BboxAccuracyTest, ManyRegions) {
  constexpr int64_t kRegions = 9000;
  std::mt19937_64 random(3);
  const auto uniform = [&](double low, double high) {
    return static_cast<double>(static_cast<float>(std::uniform_real_distribution(low, high)(random)));
  };
  Array codes(kRegions * 12), regions, matches;
  for (double& code : codes) code = uniform(-0.3, 0.3);
  for (int64_t i = 0; i < kRegions; ++i) {
    const double x = uniform(0, 50), y = uniform(0, 50);
    for (const double number : {0.0, x, y, x + uniform(5, 30), y + uniform(5, 30)}) regions.push_back(number);
    for (const double number : {std::floor(uniform(0, 3)), x, y, x + 10, y + 20, uniform(0, 1)})
      matches.push_back(number);
  }
  KernelCase what = accuracy(kRegions, 12, {codes, regions, matches});
  compare_with_reference("reference", what);
  compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
  what.tops = 1;
  compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
}

TEST(BboxAccuracyTest, Errors) {
  const auto refused = [](const std::vector<Shape>& shapes) {
    expect_config_error({{"type: 'BboxAccuracy'"}, shapes}, "", "bottom");
  };
  refused({{2, 4}, {2, 5}, {2, 6}});
  refused({{2, 9}, {2, 5}, {2, 6}});
  refused({{2, 8}, {3, 5}, {2, 6}});
  refused({{2, 8}, {2, 4}, {2, 6}});
  refused({{2, 8}, {2, 5}, {2, 7}});
  for (const char* backend : {"reference", "gpu"}) {
    const Error error = error_of([&] { tops_of(backend, accuracy(1, 8, {Array(8, 0.0), kRegion, match(2)})); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
    EXPECT_EQ(error.cause(), "region 0 is of class 2, and there are codes of 2 classes, the background among them");
  }
}

}  // namespace
}  // namespace robusta::test::bbox_accuracy_test
