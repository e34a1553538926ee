// DetectionOutput. What the net makes of its shapes: tests/net/detection_output_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "ops/boxes.h"
#include "support/detections.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::detection_output_test {
namespace {

std::string layer_of(const std::string& param) {
  return "type: 'DetectionOutput' detection_output_param { " + param + " }";
}

/// Codes, scores, and prior boxes with their variances.
KernelCase detections(const std::string& param, int64_t items, int64_t priors, const Arrays& bottoms) {
  const auto width = [&](size_t bottom) { return static_cast<int64_t>(bottoms[bottom].size()) / items; };
  KernelCase what{{layer_of(param)}, {{items, width(0)}, {items, width(1)}, {1, 2, priors * 4}}};
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

/// Three prior boxes, of which the first two overlap by 0.8, with variances of 1.
const Array kPriors{0, 0, 0.5, 0.5, 0, 0, 0.5, 0.4, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
const Array kNoCodes(12, 0.0);

TEST(DetectionOutputTest, RowsByHand) {
  // Class 0 is the background.
  const Array scores{0.1, 0.9, 0.0, 0.3, 0.7, 0.0, 0.2, 0.2, 0.6};
  const Arrays bottoms{kNoCodes, scores, kPriors};
  const std::string nms = "num_classes: 3 nms_param { nms_threshold: 0.45 } ";
  const Array best{0, 1, 0.9, 0, 0, 0.5, 0.5}, second{0, 1, 0.7, 0, 0, 0.5, 0.4}, last{0, 1, 0.2, 0.5, 0.5, 1, 1},
      other{0, 2, 0.6, 0.5, 0.5, 1, 1};
  const auto rows = [](std::initializer_list<Array> parts) {
    Array all;
    for (const Array& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const std::string above = "confidence_threshold: 0.1";
  expect_rows(detections(nms + above, 1, 3, bottoms), rows({best, last, other}));
  expect_rows(detections("num_classes: 3 nms_param { nms_threshold: 0.9 } " + above, 1, 3, bottoms),
              rows({best, second, last, other}));
  expect_rows(detections(nms + "confidence_threshold: 0.2", 1, 3, bottoms), rows({best, other}));
  expect_rows(detections(nms + above + " keep_top_k: 2", 1, 3, bottoms), rows({best, other}));
  expect_rows(detections(nms + above + " keep_top_k: 0", 1, 3, bottoms), {0, -1, -1, -1, -1, -1, -1});
  // The two best are looked at, and the second of these goes.
  const std::string two = "num_classes: 3 nms_param { nms_threshold: 0.45 top_k: 2 } ";
  expect_rows(detections(two + above, 1, 3, bottoms), rows({best, other}));
  // Without a background class 0 has boxes, too; without a threshold those of score 0.
  expect_rows(detections("num_classes: 3 background_label_id: -1 nms_param { top_k: 1 }", 1, 3, bottoms),
              rows({{0, 0, 0.3, 0, 0, 0.5, 0.4}, best, other}));
}

TEST(DetectionOutputTest, NothingFoundIsARowForEachItem) {
  const Arrays bottoms{Array(24, 0.0), Array(12, 0.1), kPriors};
  expect_rows(detections("num_classes: 2 confidence_threshold: 0.5", 2, 3, bottoms),
              {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1});
}

TEST(DetectionOutputTest, BoxesAreDecoded) {
  Array priors(kPriors.begin(), kPriors.begin() + 4);
  const auto coded = [&](const std::string& code, const Array& numbers, const Array& variances = {0.1, 0.1, 0.2, 0.2}) {
    Array both = priors;
    both.insert(both.end(), variances.begin(), variances.end());
    return detections("num_classes: 2 " + code, 1, 1, {numbers, {0, 0.5}, both});
  };
  expect_rows(coded("", {1, 2, -1, 0.5}), {0, 1, 0.5, 0.1, 0.2, 0.3, 0.6});
  expect_rows(coded("code_type: CORNER_SIZE", {1, 2, -1, 0.5}), {0, 1, 0.5, 0.05, 0.1, 0.4, 0.55});
  expect_rows(coded("code_type: CENTER_SIZE", {1, 2, 0, 0}), {0, 1, 0.5, 0.05, 0.1, 0.55, 0.6});
  expect_rows(coded("code_type: CENTER_SIZE variance_encoded_in_target: true", {0.1, 0.2, 0, std::log(2.0)}),
              {0, 1, 0.5, 0.05, -0.15, 0.55, 0.85});
}

/// Codes for each class: prior box 0's class 1, then its class 2.
TEST(DetectionOutputTest, LocationsOfEachClass) {
  Array priors(kPriors.begin(), kPriors.begin() + 4);
  priors.insert(priors.end(), 4, 1.0);
  const Array codes{9, 9, 9, 9, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2};
  expect_rows(detections("num_classes: 3 share_location: false", 1, 1, {codes, {0, 0.5, 0.25}, priors}),
              {0, 1, 0.5, 0.1, 0.1, 0.6, 0.6, 0, 2, 0.25, 0.2, 0.2, 0.7, 0.7});
}

struct Found {
  int64_t item, label, prior;
  float score;
  Box<float> box;
};

/// The same, loop by loop.
std::vector<Found> find_plainly(const Arrays& bottoms, int64_t items, int64_t priors, int64_t classes, int64_t top_k,
                                int64_t keep, float least, float threshold) {
  const auto f = [](double value) { return static_cast<float>(value); };
  const auto box_at = [&](const Array& all, int64_t place) {
    const double* n = all.data() + place * 4;
    return Box<float>{f(n[0]), f(n[1]), f(n[2]), f(n[3])};
  };
  const auto by_score = [](const Found& a, const Found& b) { return a.score > b.score; };
  std::vector<Found> all;
  for (int64_t item = 0; item < items; ++item) {
    std::vector<Found> of_item;
    for (int64_t label = 1; label < classes; ++label) {
      std::vector<Found> candidates, stay;
      for (int64_t prior = 0; prior < priors; ++prior) {
        const float score = f(bottoms[1][static_cast<size_t>((item * priors + prior) * classes + label)]);
        if (!(score > least)) continue;
        const Box<float> box =
            decode_box(BoxCode::kCenterSize, box_at(bottoms[2], prior), box_at(bottoms[2], priors + prior),
                       box_at(bottoms[0], item * priors + prior));
        candidates.push_back({item, label, prior, score, box});
      }
      std::stable_sort(candidates.begin(), candidates.end(), by_score);
      if (static_cast<int64_t>(candidates.size()) > top_k) candidates.resize(static_cast<size_t>(top_k));
      for (const Found& one : candidates) {
        if (std::none_of(stay.begin(), stay.end(),
                         [&](const Found& s) { return overlap(s.box, one.box) > threshold; })) {
          stay.push_back(one);
        }
      }
      of_item.insert(of_item.end(), stay.begin(), stay.end());
    }
    std::stable_sort(of_item.begin(), of_item.end(), by_score);
    if (static_cast<int64_t>(of_item.size()) > keep) of_item.resize(static_cast<size_t>(keep));
    std::stable_sort(of_item.begin(), of_item.end(), [](const Found& a, const Found& b) { return a.label < b.label; });
    all.insert(all.end(), of_item.begin(), of_item.end());
  }
  return all;
}

TEST(DetectionOutputTest, IsWhatPlainLoopsFind) {
  constexpr int64_t kItems = 3, kManyPriors = 400, kClasses = 5;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> part(0, 1);
  std::normal_distribution<double> normal;
  Arrays bottoms(3);
  for (int64_t i = 0; i < kItems * kManyPriors * 4; ++i) bottoms[0].push_back(static_cast<float>(normal(random)));
  for (int64_t i = 0; i < kItems * kManyPriors * kClasses; ++i) {
    bottoms[1].push_back(static_cast<float>(std::round(part(random) * 500) / 500));  // with ties
  }
  for (int64_t i = 0; i < kManyPriors; ++i) {
    const double x = part(random), y = part(random), w = 0.05 + 0.3 * part(random), h = 0.05 + 0.3 * part(random);
    for (const double v : {x - w / 2, y - h / 2, x + w / 2, y + h / 2}) bottoms[2].push_back(static_cast<float>(v));
  }
  for (int64_t i = 0; i < kManyPriors * 4; ++i) bottoms[2].push_back(static_cast<float>(i % 4 < 2 ? 0.1 : 0.2));
  const std::string param =
      "num_classes: 5 code_type: CENTER_SIZE keep_top_k: 60 confidence_threshold: 0.3 "
      "nms_param { nms_threshold: 0.45 top_k: 100 }";
  Array want;
  for (const Found& one : find_plainly(bottoms, kItems, kManyPriors, kClasses, 100, 60, 0.3f, 0.45f)) {
    for (const double v :
         {static_cast<double>(one.item), static_cast<double>(one.label), static_cast<double>(one.score),
          static_cast<double>(one.box.xmin), static_cast<double>(one.box.ymin), static_cast<double>(one.box.xmax),
          static_cast<double>(one.box.ymax)}) {
      want.push_back(v);
    }
  }
  EXPECT_EQ(want.size(), static_cast<size_t>(kItems) * 60 * 7);
  expect_rows(detections(param, kItems, kManyPriors, bottoms), want);
}

/// Each prior box twice, which overlap no others: 10^10 comparisons, if each were compared with each.
TEST(DetectionOutputTest, AHundredThousandBoxes) {
  constexpr int64_t kPlaces = 50000, kColumns = 250;
  Arrays bottoms{Array(kPlaces * 8, 0.0), {}, {}};
  for (int64_t i = 0; i < 2 * kPlaces; ++i) {
    const auto row = static_cast<double>(i % kPlaces / kColumns), column = static_cast<double>(i % kColumns);
    const double x = column / 250, y = row / 200;
    bottoms[2].insert(bottoms[2].end(), {x, y, x + 0.004, y + 0.005});
    bottoms[1].insert(bottoms[1].end(), {0, 1 - static_cast<double>(i) / 200000});
  }
  bottoms[2].insert(bottoms[2].end(), kPlaces * 8, 1.0);
  const auto begin = std::chrono::steady_clock::now();
  const Array rows =
      rows_of("reference", detections("num_classes: 2 nms_param { nms_threshold: 0.45 }", 1, 2 * kPlaces, bottoms));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 20);
  ASSERT_EQ(rows.size(), static_cast<size_t>(kPlaces) * 7);
  for (int64_t i = 0; i < kPlaces; ++i) {
    const double* row = rows.data() + i * 7;
    ASSERT_NEAR(row[2], bottoms[1][static_cast<size_t>(2 * i + 1)], 1e-6) << i;
    ASSERT_EQ(row[3], bottoms[2][static_cast<size_t>(4 * i)]) << i;
  }
}

TEST(DetectionOutputTest, ScoresThatAreNoNumbersAreNotFound) {
  const Array scores{0, std::nan(""), 0, 0.5, 0, 0.25};
  expect_rows(detections("num_classes: 2", 1, 3, {kNoCodes, scores, kPriors}),
              {0, 1, 0.5, 0, 0, 0.5, 0.4, 0, 1, 0.25, 0.5, 0.5, 1, 1});
}

TEST(DetectionOutputTest, BeforeTheFirstPassThereIsOneRow) {
  KernelCase unknown = detections("num_classes: 2", 1, 3, {kNoCodes, Array(6, 0.5), kPriors});
  unknown.bottom_values = nullptr;
  EXPECT_EQ(KernelHarness(unknown, {.backward = false}).top_shapes()[0], (Shape{1, 1, 1, 7}));
}

TEST(DetectionOutputTest, EmptyPriorsAreErrors) {
  Array priors = kPriors;
  priors[8] = 1;
  const auto error_with = [&](const std::string& code) {
    return error_of([&] {
      KernelHarness(detections("num_classes: 2 " + code, 1, 3, {kNoCodes, Array(6, 0.5), priors}), {.backward = false});
    });
  };
  for (const char* code : {"code_type: CENTER_SIZE", "code_type: CORNER_SIZE"}) {
    EXPECT_EQ(error_with(code).kind(), ErrorKind::kData);
    EXPECT_EQ(error_with(code).cause(), "prior box 2 is 0 wide and 0.5 high");
  }
}

TEST(DetectionOutputTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error({{layer_of(param)}, {{1, 12}, {1, 6}, {1, 2, 12}}}, cause, "detection_output_param." + field);
  };
  expect_refused("", "no num_classes is given", "num_classes");
  expect_refused("num_classes: 0", "num_classes is 0", "num_classes");
  expect_refused("num_classes: 2 nms_param { nms_threshold: -1 }", "nms_threshold is -1", "nms_param.nms_threshold");
  expect_refused("num_classes: 2 nms_param { nms_threshold: nan }", "nms_threshold is nan", "nms_param.nms_threshold");
  expect_refused("num_classes: 2 nms_param { eta: 0 }", "eta is 0", "nms_param.eta");
  expect_refused("num_classes: 2 nms_param { eta: 1.5 }", "eta is 1.5", "nms_param.eta");
  expect_refused("num_classes: 2 confidence_threshold: nan", "confidence_threshold is nan", "confidence_threshold");
  const auto expect_misfit = [](const std::vector<Shape>& bottoms, const std::string& cause) {
    expect_config_error({{layer_of("num_classes: 2")}, bottoms}, cause, "bottom");
  };
  expect_misfit({{1, 12}, {1, 6}, {1, 2}}, "the bottoms have shapes 1 12 (12), 1 6 (6) and 1 2 (2)");
  expect_misfit({{1, 12}, {1, 6}, {1, 1, 12}}, "bottom 2 has shape 1 1 12 (12), but 24 numbers are wanted");
  expect_misfit({{1, 11}, {1, 6}, {1, 2, 12}}, "bottom 0 has shape 1 11 (11), but 12 numbers are wanted");
  expect_misfit({{1, 12}, {1, 9}, {1, 2, 12}}, "bottom 1 has shape 1 9 (9), but 6 numbers are wanted");
  expect_misfit({{1, 12}, {2, 3, 1}, {1, 2, 14}}, "bottom 2 has shape 1 2 14 (28), but 24 numbers are wanted");
}

}  // namespace
}  // namespace robusta::test::detection_output_test
