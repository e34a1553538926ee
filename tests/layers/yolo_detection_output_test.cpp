// YoloDetectionOutput and Yolov3DetectionOutput.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/detections.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::yolo_detection_output_test {
namespace {

const std::string kSecond = "type: 'YoloDetectionOutput' yolo_detection_output_param { ",
                  kThird = "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { ";

KernelCase detections(const std::string& layer, const std::vector<Shape>& shapes, const Arrays& bottoms) {
  KernelCase what{{layer + " }"}, shapes};
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

double logit(double p) { return std::log(p / (1 - p)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One cell, one anchor of half the cell, two classes. A score of 0.8 x 0.75, the box 0.25..0.75, twice as high.
TEST(YoloDetectionOutputTest, SecondVersionByHand) {
  const Array x{0, 0, 0, std::log(2.0), logit(0.8), std::log(3.0), 0};
  const std::string fields = kSecond + "num_classes: 2 num_box: 1 biases: 0.5 biases: 0.5 ";
  const Array row{0, 1, 0.6, 0.25, 0, 0.75, 1}, nothing{0, -1, -1, -1, -1, -1, -1};
  expect_rows(detections(fields, {{1, 7, 1, 1}}, {x}), row);
  expect_rows(detections(fields + "confidence_threshold: 0.59", {{1, 7, 1, 1}}, {x}), row);
  expect_rows(detections(fields + "confidence_threshold: 0.61", {{1, 7, 1, 1}}, {x}), nothing);
  // The same box twice: the better one stays. On a grid of 1 x 2 cells another place.
  Array better = x;
  better[4] = logit(0.9);
  expect_rows(detections(fields, {{1, 7, 1, 1}, {1, 7, 1, 1}}, {x, better}), {0, 1, 0.675, 0.25, 0, 0.75, 1});
  const Array two{0, 0, 0, 0, 0, 0, 0, 0, logit(0.8), logit(0.4), 0, 0, 1, 1};
  const double second = 1 / (1 + std::exp(-1.0));
  expect_rows(detections(fields, {{1, 7, 1, 2}}, {two}), {0, 2, 0.8 * second, 0.125, 0.25, 0.375, 0.75,  //
                                                          0, 2, 0.4 * second, 0.625, 0.25, 0.875, 0.75});
}

TEST(YoloDetectionOutputTest, ThirdVersionByHand) {
  // Anchors are pixels of an image of 16 pixels for each cell; each class above the threshold is found, and the worse
  // one of one box goes.
  const Array x{0, 0, 0, std::log(2.0), logit(0.8), logit(0.5), logit(0.75)};
  const std::string fields =
      kThird + "num_classes: 2 num_box: 1 biases: 4 biases: 4 biases: 8 biases: 8 confidence_threshold: 0.3 ";
  const std::string one = fields + "mask_group_num: 1 mask: 1 anchors_scale: 16 ";
  expect_rows(detections(one, {{1, 7, 1, 1}}, {x}), {0, 2, 0.6, 0.25, 0, 0.75, 1});
  expect_rows(detections(one + "nms_threshold: 1.5", {{1, 7, 1, 1}}, {x}),
              {0, 2, 0.6, 0.25, 0, 0.75, 1, 0, 1, 0.4, 0.25, 0, 0.75, 1});
  // As much overlap as the threshold is too much.
  expect_rows(detections(one + "nms_threshold: 1", {{1, 7, 1, 1}}, {x}), {0, 2, 0.6, 0.25, 0, 0.75, 1});
  // Two scales, of which the second has the smaller anchor, and two items: one does not suppress the other's.
  const std::string two = fields + "mask_group_num: 2 mask: 1 mask: 0 anchors_scale: 16 anchors_scale: 16 ";
  Array both = x, none(7, -9.0);
  both.insert(both.end(), x.begin(), x.end());
  Array small{-9, -9, -9, -9, -9, -9, -9};
  small.insert(small.end(), {0, 0, 0, 0, logit(0.9), logit(0.9), 0});
  expect_rows(detections(two, {{2, 7, 1, 1}, {2, 7, 1, 1}}, {both, small}),
              {0, 2, 0.6, 0.25, 0, 0.75, 1, 1, 1, 0.81, 0.375, 0.375, 0.625, 0.625, 1, 2, 0.6, 0.25, 0, 0.75, 1});
}

TEST(YoloDetectionOutputTest, NothingFoundIsARowForEachItem) {
  expect_rows(detections(kSecond + "num_classes: 1 num_box: 1 biases: 1 biases: 1 confidence_threshold: 0.9",
                         {{2, 6, 1, 1}}, {Array(12, 0.0)}),
              {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1});
}

TEST(YoloDetectionOutputTest, ScoresThatAreNoNumbersAreNotFound) {
  Array x(12, std::nan(""));
  const std::string one = kThird + "num_classes: 1 num_box: 1 biases: 1 biases: 1 mask_group_num: 1 mask: 0 ";
  expect_rows(detections(one + "anchors_scale: 8", {{2, 6, 1, 1}}, {x}),
              {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1});
  expect_rows(detections(kSecond + "num_classes: 1 num_box: 1 biases: 1 biases: 1", {{2, 6, 1, 1}}, {x}),
              {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1});
}

struct Found {
  double score, label, xmin, ymin, xmax, ymax;
};

/// The third version's, loop by loop.
TEST(YoloDetectionOutputTest, IsWhatPlainLoopsFind) {
  constexpr int kAnchors = 2, kNumbers = 5 + 3, kHeight = 5, kWidth = 7, kCells = kHeight * kWidth;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Array x;
  for (int i = 0; i < 2 * kAnchors * kNumbers * kCells; ++i) x.push_back(static_cast<float>(normal(random)));
  Array want;
  for (int item = 0; item < 2; ++item) {
    std::vector<Found> found;
    for (int n = 0; n < kAnchors; ++n) {
      for (int cell = 0; cell < kCells; ++cell) {
        const auto number = [&](int c) {
          return x[static_cast<size_t>(((item * kAnchors + n) * kNumbers + c) * kCells + cell)];
        };
        const double px = (cell % kWidth + sigmoid(number(0))) / kWidth, py = (cell / kWidth + sigmoid(number(1))) / 5;
        const double w = std::exp(number(2)) * (n == 0 ? 20 : 5) / (kWidth * 8), h = std::exp(number(3)) * 10 / 40;
        for (int c = 0; c < 3; ++c) {
          const double score = sigmoid(number(4)) * sigmoid(number(5 + c));
          if (score > 0.3) found.push_back({score, c + 1.0, px - w / 2, py - h / 2, px + w / 2, py + h / 2});
        }
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    std::vector<Found> stay;
    for (const Found& one : found) {
      const bool goes = std::any_of(stay.begin(), stay.end(), [&](const Found& s) {
        const double w = std::min(one.xmax, s.xmax) - std::max(one.xmin, s.xmin);
        const double h = std::min(one.ymax, s.ymax) - std::max(one.ymin, s.ymin);
        const auto area = [](const Found& f) { return (f.xmax - f.xmin) * (f.ymax - f.ymin); };
        return w > 0 && h > 0 && w * h >= 0.4 * (area(one) + area(s) - w * h);
      });
      if (goes) continue;
      stay.push_back(one);
      want.insert(want.end(),
                  {static_cast<double>(item), one.label, one.score, one.xmin, one.ymin, one.xmax, one.ymax});
    }
  }
  EXPECT_GT(want.size(), 70u);
  expect_rows(
      detections(kThird + "num_classes: 3 num_box: 2 biases: 5 biases: 10 biases: 20 biases: 10 mask: 1 mask: 0 "
                          "mask_group_num: 1 anchors_scale: 8 confidence_threshold: 0.3 nms_threshold: 0.4",
                 {{2, kAnchors * kNumbers, kHeight, kWidth}}, {x}),
      want);
}

TEST(YoloDetectionOutputTest, Errors) {
  const auto expect_refused = [](const std::string& layer, const std::string& cause, const std::string& field) {
    expect_config_error({{layer + " }"}, {{1, 7, 1, 1}}}, cause, field);
  };
  const std::string second = "yolo_detection_output_param.", third = "yolov3_detection_output_param.";
  const std::string good = "num_classes: 2 num_box: 1 biases: 1 biases: 1 ";
  expect_refused(kSecond, "no num_classes is given", second + "num_classes");
  expect_refused(kSecond + "num_classes: 0", "num_classes is 0", second + "num_classes");
  const std::string anchor = "num_classes: 2 biases: 1 biases: 1 ";
  expect_refused(kSecond + anchor + "num_box: 0", "num_box is 0", second + "num_box");
  expect_refused(kSecond + anchor + "num_box: 2", "there are 2 biases for 2 anchors", second + "biases");
  expect_refused(kSecond + good + "coords: 3", "coords is 3", second + "coords");
  expect_refused(kSecond + good + "nms_threshold: 0", "nms_threshold is 0", second + "nms_threshold");
  expect_refused(kSecond + good + "confidence_threshold: nan", "confidence_threshold is nan",
                 second + "confidence_threshold");
  expect_refused(kSecond + "num_classes: 3 num_box: 1 biases: 1 biases: 1", "bottom 0 has shape 1 7 1 1", "bottom");
  expect_config_error({{kSecond + good + "}"}, {{1, 7, 1, 1}, {2, 7, 1, 1}}}, "bottom 1 has 2 items", "bottom");
  const std::string one = good + "mask_group_num: 1 ";
  expect_refused(kThird, "no num_classes is given", third + "num_classes");
  expect_refused(kThird + one, "there are 0 mask for 1 groups of 1", third + "mask");
  expect_refused(kThird + one + "mask: 1", "mask 1 is out of range 0..0", third + "mask");
  expect_refused(kThird + one + "mask: 0", "there are 0 anchors_scale for 1 groups", third + "anchors_scale");
  expect_refused(kThird + one + "mask: 0 anchors_scale: 0", "an anchors_scale is 0", third + "anchors_scale");
  expect_refused(kThird + good + "mask_group_num: 0", "mask_group_num is 0", third + "mask_group_num");
  expect_refused(kThird + good + "mask: 0 mask: 0 anchors_scale: 8 anchors_scale: 8",
                 "there are 1 bottoms for mask_group_num 2", third + "mask_group_num");
}

}  // namespace
}  // namespace robusta::test::yolo_detection_output_test
