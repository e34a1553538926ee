// Boxes: overlap, codes, the best scores, suppression.
#include "ops/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

namespace robusta {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

using FloatBox = Box<float>;

void expect_box(const Box<double>& got, const Box<double>& want, const char* what) {
  EXPECT_NEAR(got.xmin, want.xmin, 1e-12) << what;
  EXPECT_NEAR(got.ymin, want.ymin, 1e-12) << what;
  EXPECT_NEAR(got.xmax, want.xmax, 1e-12) << what;
  EXPECT_NEAR(got.ymax, want.ymax, 1e-12) << what;
}

TEST(BoxesTest, OverlapByHand) {
  const FloatBox box{0, 0, 2, 2};
  EXPECT_FLOAT_EQ(overlap(box, box), 1);
  EXPECT_FLOAT_EQ(overlap(box, {1, 1, 3, 3}), 1.0f / 7);
  EXPECT_FLOAT_EQ(overlap({1, 1, 3, 3}, box), 1.0f / 7);
  EXPECT_FLOAT_EQ(overlap(box, {0.5f, 0.5f, 1.5f, 1}), 0.125f);
  EXPECT_EQ(overlap(box, {2, 0, 3, 2}), 0) << "an edge in common";
  EXPECT_EQ(overlap(box, {5, 5, 6, 6}), 0);
  EXPECT_EQ(overlap(box, {1, 1, 1, 2}), 0) << "empty";
  EXPECT_EQ(overlap(box, {2, 2, 0, 0}), 0) << "upside down";
  EXPECT_EQ(overlap(box, {kNan, 0, 2, 2}), 0);
  EXPECT_EQ(overlap({0, 0, kInf, 2}, box), 0);
  EXPECT_EQ((FloatBox{2, 2, 0, 0}.area()), 0);
}

TEST(BoxesTest, CodesByHand) {
  const Box<double> prior{0.2, 0.2, 0.6, 0.4}, one{1, 1, 1, 1}, variance{0.1, 0.1, 0.2, 0.2};
  expect_box(decode_box(BoxCode::kCorner, prior, variance, {1, 2, -1, 0.5}), {0.3, 0.4, 0.4, 0.5}, "corner");
  expect_box(decode_box(BoxCode::kCorner, prior, one, {0.1, 0.2, -0.2, 0.1}), {0.3, 0.4, 0.4, 0.5}, "in the code");
  expect_box(decode_box(BoxCode::kCornerSize, prior, variance, {1, -1, 0.5, 0}), {0.24, 0.18, 0.64, 0.4}, "by size");
  // The centre moves from (0.4, 0.3) by 0.1 x 0.4 and -0.1 x 0.2; sizes double and halve.
  const Box<double> sizes{1, -1, std::log(2.0) / 0.2, -std::log(2.0) / 0.2};
  expect_box(decode_box(BoxCode::kCenterSize, prior, variance, sizes), {0.04, 0.23, 0.84, 0.33}, "centre");
}

TEST(BoxesTest, EncodingIsTheInverse) {
  const Box<double> prior{0.1, 0.3, 0.4, 0.5}, variance{0.1, 0.2, 0.3, 0.4}, box{0.25, 0.2, 0.9, 0.35};
  for (const BoxCode code : {BoxCode::kCorner, BoxCode::kCenterSize, BoxCode::kCornerSize}) {
    expect_box(decode_box(code, prior, variance, encode_box(code, prior, variance, box)), box, "inverse");
  }
}

TEST(BoxesTest, BestScoresAreSortedAndFew) {
  const std::vector<float> scores{0.5f, kNan, 0.9f, 0.1f, 0.5f, 0.9f, -kInf, 0.2f};
  const auto places = [&](float least, int64_t most) {
    std::vector<int64_t> indices;
    const auto score_of = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
    for (const Scored& one : best_scores(static_cast<int64_t>(scores.size()), score_of, least, most)) {
      indices.push_back(one.index);
    }
    return indices;
  };
  EXPECT_EQ(places(-FLT_MAX, -1), (std::vector<int64_t>{2, 5, 0, 4, 7, 3}));
  EXPECT_EQ(places(0.2f, -1), (std::vector<int64_t>{2, 5, 0, 4}));
  EXPECT_EQ(places(-FLT_MAX, 3), (std::vector<int64_t>{2, 5, 0}));
  EXPECT_EQ(places(-FLT_MAX, 0), std::vector<int64_t>{});
  EXPECT_EQ(places(-FLT_MAX, 100).size(), 6u);
}

/// Each with each, as the paper says it.
std::vector<int64_t> suppress_plainly(const std::vector<FloatBox>& boxes, float threshold, float eta) {
  std::vector<int64_t> stay;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const bool goes = std::any_of(stay.begin(), stay.end(), [&](int64_t kept) {
      return overlap(boxes[i], boxes[static_cast<size_t>(kept)]) > threshold;
    });
    if (goes) continue;
    stay.push_back(static_cast<int64_t>(i));
    if (eta < 1 && threshold > 0.5f) threshold *= eta;
  }
  return stay;
}

std::vector<FloatBox> random_boxes(size_t count, float largest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(-0.2f, 1.2f), size(0, largest);
  std::vector<FloatBox> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float x = place(random), y = place(random), w = size(random), h = size(random);
    boxes.push_back({x - w / 2, y - h / 2, x + w / 2, y + h / 2});
  }
  return boxes;
}

TEST(BoxesTest, SuppressionIsThatOfEachWithEach) {
  unsigned seed = 1;
  for (const float largest : {0.02f, 0.1f, 1.0f}) {
    for (const float threshold : {0.0f, 0.05f, 0.3f, 0.6f, 1.0f}) {
      for (const float eta : {1.0f, 0.95f}) {
        std::vector<FloatBox> boxes = random_boxes(1500, largest, ++seed);
        boxes[7] = {kNan, 0, 1, 1}, boxes[8] = {-kInf, -kInf, kInf, kInf}, boxes[9] = {1, 1, 0, 0};
        boxes[20] = boxes[21];
        EXPECT_EQ(suppress_overlaps(boxes, threshold, eta), suppress_plainly(boxes, threshold, eta))
            << largest << " " << threshold << " " << eta;
      }
    }
  }
}

TEST(BoxesTest, SuppressionByHand) {
  const std::vector<FloatBox> boxes{{0, 0, 1, 1}, {0, 0, 1, 0.9f}, {0, 0, 0.5f, 1}, {0.5f, 0, 1, 1}, {2, 2, 3, 3}};
  EXPECT_EQ(suppress_overlaps(boxes, 0.8f, 1), (std::vector<int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(suppress_overlaps(boxes, 0.95f, 1), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(suppress_overlaps(boxes, 0.4f, 1), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(suppress_overlaps(boxes, 0.95f, 0.9f), (std::vector<int64_t>{0, 2, 3, 4})) << "0.855 for the second";
  EXPECT_EQ(suppress_overlaps({}, 0.5f, 1), std::vector<int64_t>{});
}

/// Small ones of one size among each other, far from 0, where they are many times narrower than the image.
TEST(BoxesTest, SuppressionOfACrowd) {
  for (const float size : {1e-3f, 1.0f, 300.0f}) {
    std::vector<FloatBox> boxes = random_boxes(3000, 0.05f, 11);
    for (FloatBox& box : boxes) {
      const float x = box.xmin * size, y = box.ymin * size;
      box = {0.3f + x, 0.7f + y, 0.3f + x + 0.02f * size, 0.7f + y + 0.03f * size};
    }
    for (const float threshold : {0.2f, 0.45f, 0.7f}) {
      const std::vector<int64_t> stay = suppress_overlaps(boxes, threshold, 1);
      EXPECT_GT(stay.size(), 600u);
      EXPECT_EQ(stay, suppress_plainly(boxes, threshold, 1)) << size << " " << threshold;
    }
  }
}

double seconds_of(const std::vector<FloatBox>& boxes, float threshold, size_t want) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(suppress_overlaps(boxes, threshold, 1).size(), want);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// 5 x 10^9 comparisons, if each were compared with each: of boxes that all stay, over the whole image and in a corner
/// of it, and of those of which one stays.
TEST(BoxesTest, ManyBoxesTakeLittleTime) {
  for (const float size : {1.0f, 1e-3f}) {
    std::vector<FloatBox> boxes;
    for (int i = 0; i < 316; ++i) {
      for (int j = 0; j < 317; ++j) {
        const float x = static_cast<float>(i) / 316 * size, y = static_cast<float>(j) / 317 * size;
        boxes.push_back({x, y, x + 0.003f * size, y + 0.003f * size});
      }
    }
    const double seconds = seconds_of(boxes, 0.45f, boxes.size());
    EXPECT_LT(seconds, 10);
    RecordProperty(size == 1 ? "image_ms" : "corner_ms", static_cast<int>(seconds * 1000));
  }
  EXPECT_LT(seconds_of(std::vector<FloatBox>(100000, {0.1f, 0.1f, 0.6f, 0.6f}), 0.45f, 1), 1);
}

}  // namespace
}  // namespace robusta
