// DetectionLoss: which cells are examples, the loss of both parts, and its gradient.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/two_ranks.h"

namespace robusta::test::detection_loss_test {
namespace {

const std::string kField = "field_w: 16 field_h: 24 downsample_rate: 8 ";

std::string layer_of(const std::string& param, const std::string& more = "") {
  return "name: 'loss' type: 'DetectionLoss' " + more + " detection_loss_param { " + kField + param + " }";
}

/// What the layer reads: predictions and truth, cell by cell.
struct Scene {
  int64_t items = 1, classes = 2, height = 1, width = 1;
  Array predictions, truth;

  Scene(int64_t items_, int64_t classes_, int64_t height_, int64_t width_)
      : items(items_), classes(classes_), height(height_), width(width_) {
    predictions.assign(static_cast<size_t>(items * (classes + 4) * cells()), 0.0);
    truth.assign(static_cast<size_t>(items * 6 * cells()), 0.0);
  }
  int64_t cells() const { return height * width; }
  double& prediction(int64_t place, int64_t k) {
    return predictions[static_cast<size_t>((place / cells() * (classes + 4) + k) * cells() + place % cells())];
  }
  double& of_truth(int64_t place, int64_t k) {
    return truth[static_cast<size_t>((place / cells() * 6 + k) * cells() + place % cells())];
  }
  void set_truth(int64_t place, const Array& numbers) {
    for (int64_t k = 0; k < 6; ++k) of_truth(place, k) = numbers[static_cast<size_t>(k)];
  }
  KernelCase with(const std::string& param, const std::string& more = "") const {
    KernelCase what{{layer_of("cls_num: " + std::to_string(classes) + " " + param, more)},
                    {{items, classes + 4, height, width}, {items, 6, height, width}}};
    what.bottom_values = [*this](int bottom, const Shape&) { return bottom == 0 ? predictions : truth; };
    return what;
  }
};

/// Scores and codes anywhere, some of them beyond what counts; a third of the cells are objects, whose boxes are near.
Scene random_scene(int64_t items, int64_t classes, int64_t height, int64_t width, uint64_t seed = 1) {
  Scene scene(items, classes, height, width);
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return static_cast<double>(static_cast<float>(std::uniform_real_distribution(low, high)(random)));
  };
  for (double& number : scene.predictions) number = uniform(-1.2, 1.2);
  for (int64_t place = 0; place < items * scene.cells(); ++place) {
    const double x = 8 * (static_cast<double>(place % width) + 0.5),
                 y = 8 * (static_cast<double>(place / width % height) + 0.5);
    const bool object = uniform(0, 3) < 1;
    const auto label = static_cast<double>(object ? 1 + place % (classes - 1) : 0);
    scene.set_truth(place, {label, x + uniform(-6, 6), y + uniform(-6, 6), uniform(1, 30), uniform(4, 40),
                            object ? uniform(0.5, 1) : uniform(0, 0.9)});
  }
  return scene;
}

Array top_of(const std::string& backend, const KernelCase& what,
             const Pass& pass = {.seed = 7, .first_sample = 5, .next_sample = 9, .batch = 0}) {
  const DType type = backend == "reference" ? DType::kF64 : DType::kF32;
  KernelHarness harness(what, {.backend = backend, .dtype = type, .pass = pass});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {})});
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

/// By the predictions, for a weight of 1 of L.
Array gradient_of(const std::string& backend, const KernelCase& what,
                  const Pass& pass = {.seed = 7, .first_sample = 5, .next_sample = 9, .batch = 0}) {
  const DType type = backend == "reference" ? DType::kF64 : DType::kF32;
  KernelHarness harness(what, {.backend = backend, .dtype = type, .pass = pass});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {})});
  harness.backward({{1, 0}});
  EXPECT_EQ(harness.damage(), "");
  return harness.bottom_diffs()[0];
}

/// Places whose scores have a gradient.
std::set<int64_t> examples_of(const Scene& scene, const std::string& param, const Pass& pass) {
  const Array gradient = gradient_of("reference", scene.with(param), pass);
  std::set<int64_t> examples;
  for (int64_t place = 0; place < scene.items * scene.cells(); ++place) {
    const int64_t at = place / scene.cells() * (scene.classes + 4) * scene.cells() + place % scene.cells();
    if (gradient[static_cast<size_t>(at)] != 0) examples.insert(place);
  }
  return examples;
}

void expect_top(const KernelCase& what, const Array& want) {
  for (const char* backend : {"reference", "gpu"}) expect_near(top_of(backend, what), want, 1e-5, backend);
}

const double kHalf = std::log(2.0);  // the loss of two equal scores

TEST(DetectionLossTest, AnObjectAndABackgroundByHand) {
  Scene scene(1, 2, 1, 2);
  // The middle of the first cell is (4, 4); the box is 4 to the right, 6 up, twice as wide and half as high.
  scene.set_truth(0, {1, 8, -2, 32, 12, 0.7});
  scene.set_truth(1, {0, 0, 0, 0, 0, 0.1});
  const double log = std::log(2.0);
  const double boxes = (0.25 * 0.25 + 0.25 * 0.25 + log * log + log * log) / 2 / 4;
  expect_top(scene.with("sample_mode: 'all'"), {kHalf + boxes, boxes});
  expect_top(scene.with("sample_mode: 'all' lambda: 3"), {kHalf + 3 * boxes, 3 * boxes});
  // Above the threshold the second cell is nothing.
  scene.prediction(0, 1) = 1;
  scene.of_truth(1, 5) = 0.5;
  expect_top(scene.with("sample_mode: 'all'"), {std::log(1 + std::exp(-1.0)) + boxes, boxes});
}

TEST(DetectionLossTest, CodesAreCutAndNormalised) {
  Scene scene(1, 2, 1, 1);
  scene.set_truth(0, {1, 4, 4, 16, 24, 1});
  for (int64_t k = 0; k < 4; ++k) scene.prediction(0, 2 + k) = 9;
  const double log = std::log(2.0), quarter = 0.25 * 0.25 / 2, size = log * log / 2;
  expect_top(scene.with("field_xyr: 4"), {kHalf + (2 * quarter + 2 * size) / 4, (2 * quarter + 2 * size) / 4});
  // Codes by deviations of 0.5 are twice as large; those of shifts end at 1 / 4 / 0.5.
  const std::string by =
      "bbox_reg_param { bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.5 "
      "bbox_std: 0.5 bbox_std: 0.5 bbox_std: 0.5 }";
  const double end = 2 * log;
  expect_top(scene.with("field_xyr: 4 bb_smooth: true", by),
             {kHalf + (2 * 0.125 + 2 * (end - 0.5)) / 4, (2 * 0.125 + 2 * (end - 0.5)) / 4});
  expect_top(scene.with("field_xyr: 4 bb_smooth: false", by),
             {kHalf + (2 * 0.125 + end * end) / 4, (2 * 0.125 + end * end) / 4});
}

TEST(DetectionLossTest, GradientsByDifferences) {
  for (const char* param : {"sample_mode: 'all'", "sample_mode: 'random' lambda: 2", "bb_smooth: false",
                            "iou_weighted: true pos_neg_weighted: true bg_multiple: 2"}) {
    // Nothing is cut, and no score decides.
    const KernelCase what = random_scene(2, 3, 3, 4).with(std::string("field_xyr: 0.1 field_whr: 1000 ") + param);
    const Array at = what.bottom_values(0, {}), gradient = gradient_of("reference", what);
    constexpr double kStep = 1e-5;
    Array differences(at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      double sides[2];
      for (const int side : {0, 1}) {
        KernelCase moved = what;
        Array values = at;
        values[i] += side == 1 ? kStep : -kStep;
        moved.bottom_values = [&](int bottom, const Shape& shape) {
          return bottom == 0 ? values : what.bottom_values(1, shape);
        };
        sides[side] = top_of("reference", moved)[0];
      }
      differences[i] = (sides[1] - sides[0]) / (2 * kStep);
    }
    expect_near(gradient, differences, 1e-5, param);
  }
}

TEST(DetectionLossTest, CutCodesMoveBack) {
  Scene scene(1, 2, 1, 1);
  scene.set_truth(0, {1, 4, 4, 16, 24, 1});
  for (int64_t k = 0; k < 4; ++k) scene.prediction(0, 2 + k) = k % 2 == 0 ? 9 : -9;
  const double log = std::log(2.0);
  for (const char* backend : {"reference", "gpu"}) {
    const Array gradient = gradient_of(backend, scene.with("field_xyr: 4"));
    expect_near(gradient, {0.5, -0.5, 0.25 / 4, -0.25 / 4, log / 4, -log / 4}, 1e-5, backend);
  }
}

TEST(DetectionLossTest, BootstrapTakesTheLargestScoresOfEachClass) {
  Scene scene(1, 3, 1, 12);
  for (int64_t cell = 0; cell < 12; ++cell) {
    scene.set_truth(cell, {0, 0, 0, 0, 0, 0.1});
    scene.prediction(cell, 1) = static_cast<double>(cell);  // the background of class 1 is at the end,
    scene.prediction(cell, 2) = cell < 6 ? 3.0 : 0.0;       // that of class 2 among the first six, the last ones first
  }
  scene.set_truth(11, {1, 92, 4, 16, 24, 1});
  scene.of_truth(10, 5) = 0.9;
  const Pass pass{.seed = 1, .first_sample = 0, .next_sample = 1, .batch = 1};
  EXPECT_EQ(examples_of(scene, "sample_mode: 'bootstrap' bg_multiple: 2", pass),
            (std::set<int64_t>{2, 3, 4, 5, 6, 7, 8, 9, 11}));
  EXPECT_EQ(examples_of(scene, "sample_mode: 'bootstrap' bg_multiple: 6", pass),
            (std::set<int64_t>{2, 3, 4, 5, 6, 7, 8, 9, 11}));
  EXPECT_EQ(examples_of(scene, "sample_mode: 'bootstrap' bg_multiple: 7", pass),
            (std::set<int64_t>{2, 3, 4, 5, 6, 7, 8, 9, 11}));
  EXPECT_EQ(examples_of(scene, "sample_mode: 'bootstrap' bg_multiple: 9", pass),
            (std::set<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11}));
  scene.prediction(0, 1) = NAN;
  EXPECT_TRUE(std::isnan(top_of("reference", scene.with("sample_mode: 'bootstrap'"))[0]));
}

TEST(DetectionLossTest, DrawsFollowFromThePositionOfTheSample) {
  Scene two(2, 2, 6, 6), one(1, 2, 6, 6);
  for (int64_t place = 0; place < 36; ++place) {
    const Array numbers{place == 7 ? 1.0 : 0.0, 12, 12, 20, 20, place % 5 == 0 ? 0.8 : 0.2};
    for (const int64_t item : {0, 36}) two.set_truth(item + place, numbers);
    one.set_truth(place, numbers);
  }
  const std::string random = "sample_mode: 'random' bg_multiple: 6";
  const auto pass = [](uint64_t first, uint64_t seed = 1) {
    return Pass{.seed = seed, .first_sample = first, .batch = 1};
  };
  const std::set<int64_t> both = examples_of(two, random, pass(3)), next = examples_of(one, random, pass(4));
  std::set<int64_t> second;
  for (const int64_t place : both) {
    if (place >= 36) second.insert(place - 36);
  }
  EXPECT_EQ(second, next);
  EXPECT_NE(next, examples_of(one, random, pass(5)));
  EXPECT_NE(next, examples_of(one, random, pass(4, 2)));
  EXPECT_TRUE(next.contains(7));
  EXPECT_GT(next.size(), 2u);
  EXPECT_LE(next.size(), 7u);
  for (const int64_t place : next) EXPECT_TRUE(place == 7 || place % 5 != 0) << place;
  // So many draws take all.
  EXPECT_EQ(examples_of(one, "sample_mode: 'random' bg_multiple: 4294967295", pass(4)),
            examples_of(one, "sample_mode: 'all'", pass(4)));
}

TEST(DetectionLossTest, WeightsOfObjectsAndOfTheBackground) {
  Scene scene(1, 2, 1, 4);
  scene.set_truth(0, {1, 4, 4, 16, 24, 0.5});
  scene.set_truth(1, {1, 12, 4, 16, 24, 1});
  scene.prediction(0, 1) = 1;
  const double first = std::log(1 + std::exp(-1.0));
  expect_top(scene.with("sample_mode: 'all' iou_weighted: true"), {(first / 2 + 3 * kHalf) / 4, 0});
  // A third of the weight of 4 examples is that of the objects.
  expect_top(scene.with("sample_mode: 'all' pos_neg_weighted: true bg_multiple: 2"),
             {((first + kHalf) * 2 / 3 + 2 * kHalf * 4 / 3) / 4, 0});
  expect_top(scene.with("sample_mode: 'all' iou_weighted: true pos_neg_weighted: true bg_multiple: 2"),
             {((first / 2 + kHalf) * 8 / 9 + 2 * kHalf * 4 / 3) / 4, 0});
  // Without objects the background keeps its part, as on mscnn's GPU.
  Scene none(1, 2, 1, 4);
  expect_top(none.with("sample_mode: 'all' pos_neg_weighted: true bg_multiple: 2"), {kHalf * 2 / 3, 0});
  Scene nothing(1, 2, 1, 1);
  nothing.of_truth(0, 5) = 1;
  expect_top(nothing.with("sample_mode: 'all' pos_neg_weighted: true"), {0, 0});
}

TEST(DetectionLossTest, IgnoredLabelsAndObjectness) {
  Scene scene(1, 2, 1, 3);
  scene.set_truth(0, {3, 4, 4, 16, 24, 0.5});
  scene.set_truth(1, {-1, NAN, NAN, NAN, NAN, NAN});
  scene.set_truth(2, {0, 0, 0, 0, 0, 0.1});
  scene.prediction(0, 1) = 1;
  const KernelCase what = scene.with("sample_mode: 'all' objectness: true", "loss_param { ignore_label: -1 }");
  expect_top(what, {(std::log(1 + std::exp(-1.0)) + kHalf) / 2, 0});
}

/// TwoRanks has 5 examples, 5 objects, and so on, on the other rank.
TEST(DetectionLossTest, RanksDivideByAllExamples) {
  Scene scene(1, 2, 1, 2);
  scene.set_truth(0, {1, 4, 4, 16, 24, 1});
  scene.prediction(0, 2) = 0.5;
  TwoRanks ranks;
  const Pass pass{.seed = 1, .first_sample = 0, .batch = 1, .ranks = &ranks};
  const double box = 0.125;
  for (const char* backend : {"reference", "gpu"}) {
    const Array top = top_of(backend, scene.with("sample_mode: 'all'"), pass);
    expect_near(top, {2 * kHalf / (7.0 / 2) + box / (4 * 6 / 2), box / (4 * 6 / 2)}, 1e-5, backend);
  }
  EXPECT_EQ(ranks.sums, 2);
}

TEST(DetectionLossTest, SinglePrecisionAndGpu) {
  for (const char* param : {"sample_mode: 'all'", "sample_mode: 'random'", "sample_mode: 'bootstrap' bb_smooth: false",
                            "sample_mode: 'mixture' iou_weighted: true pos_neg_weighted: true lambda: 0.5"}) {
    const KernelCase what = random_scene(3, 4, 5, 7).with(param);
    compare_with_reference("reference", what);
    compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
  }
}

TEST(DetectionLossTest, BadTruthIsAnError) {
  const auto error_with = [](const char* backend, int64_t k, double number, const std::string& param = "") {
    Scene scene(2, 3, 2, 2);
    scene.set_truth(6, {1, 4, 4, 16, 24, 1});
    scene.of_truth(6, k) = number;
    return error_of([&] { top_of(backend, scene.with(param)); });
  };
  for (const char* backend : {"reference", "gpu"}) {
    EXPECT_EQ(error_with(backend, 0, 3).cause(), "label 3 at sample 6 is out of range 0..2");
    EXPECT_EQ(error_with(backend, 0, -1).kind(), ErrorKind::kData);
    EXPECT_EQ(error_with(backend, 0, NAN).kind(), ErrorKind::kData);
    EXPECT_EQ(error_with(backend, 2, INFINITY).cause(),
              "the middle y is inf in row 1, column 0 of the truth of sample 6");
    EXPECT_EQ(error_with(backend, 5, NAN).kind(), ErrorKind::kData);
    EXPECT_EQ(error_with(backend, 5, -0.5).kind(), ErrorKind::kData);
  }
}

TEST(DetectionLossTest, SettingsAndShapesThatCannotBe) {
  const auto refused = [](const std::string& param, const std::string& field, const Shape& truth = {1, 6, 2, 2}) {
    std::string fields;
    for (const char* size : {"field_w", "field_h", "downsample_rate"}) {
      if (param.find(std::string(size) + ":") == std::string::npos) fields += std::string(size) + ": 8 ";
    }
    expect_config_error(
        {{"type: 'DetectionLoss' detection_loss_param { " + fields + param + " }"}, {{1, 6, 2, 2}, truth}}, "", field);
  };
  const std::string path = "detection_loss_param.";
  refused("", path + "cls_num");
  refused("cls_num: 1", path + "cls_num");
  refused("cls_num: 2 coord_num: 5", path + "coord_num");
  refused("cls_num: 2 field_w: 0", path + "field_w");
  refused("cls_num: 2 downsample_rate: 0", path + "downsample_rate");
  refused("cls_num: 2 field_whr: 0.5", path + "field_whr");
  refused("cls_num: 2 field_xyr: 0", path + "field_xyr");
  refused("cls_num: 2 bg_threshold: nan", path + "bg_threshold");
  refused("cls_num: 2 lambda: inf", path + "lambda");
  refused("cls_num: 2 sample_mode: 'hard'", path + "sample_mode");
  refused("cls_num: 3 objectness: true", path + "cls_num");
  refused("cls_num: 3", "bottom");
  refused("cls_num: 2", "bottom", {1, 5, 2, 2});
  refused("cls_num: 2", "bottom", {1, 6, 2, 3});
  const Error yolo = error_of([] { KernelHarness({{layer_of("side: 5")}, {{1, 6, 2, 2}, {1, 6, 2, 2}}}, {}); });
  EXPECT_EQ(yolo.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(yolo.field(), path + "side");
}

}  // namespace
}  // namespace robusta::test::detection_loss_test
