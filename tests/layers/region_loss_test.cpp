// RegionLoss.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/log_lines.h"

namespace robusta::test::region_loss_test {
namespace {

constexpr int64_t kItems = 2, kAnchors = 2, kClasses = 3, kNumbers = 5 + kClasses, kHeight = 3, kWidth = 4;
constexpr int64_t kCells = kHeight * kWidth;
const double kSizes[kAnchors][2] = {{1, 1.5}, {2.5, 0.75}};
const std::string kFields =
    "num: 2 num_class: 3 biases: 1 biases: 1.5 biases: 2.5 biases: 0.75 object_scale: 5 noobject_scale: 0.5 "
    "class_scale: 2 coord_scale: 3 thresh: 0.3 ";

std::string layer_of(const std::string& param) { return "type: 'RegionLoss' region_loss_param { " + param + " }"; }

/// Rows of bottom 1: boxes of both items, two of one prediction, one that is none, one without area.
const Array kBoxes{0,  2, 0, 0.1,  0.1, 0.3, 0.5, 0,  //
                   1,  1, 0, 0.55, 0.7, 0.9, 0.9, 0,  //
                   0,  3, 0, 0.2,  0.2, 0.8, 0.4, 1,  //
                   -1, 9, 9, 9,    9,   9,   9,   9,  //
                   0,  1, 0, 0.12, 0.1, 0.3, 0.6, 0,  //
                   1,  0, 0, 0.5,  0.5, 0.5, 0.9, 0,  //
                   1,  3, 0, 0.8,  0.8, 1.0, 1.0, 0};

KernelCase region_case(const std::string& more = "", const Array& boxes = kBoxes) {
  KernelCase what{{layer_of(kFields + more)},
                  {{kItems, kAnchors * kNumbers, kHeight, kWidth}, {1, 1, static_cast<int64_t>(boxes.size()) / 8, 8}}};
  what.bottom_values = [boxes](int bottom, const Shape&) { return bottom == 1 ? boxes : Array{}; };
  return what;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct PlainBox {
  double label, x, y, w, h;
};

double common_part(const PlainBox& a, const PlainBox& b) {
  const double w = std::min(a.x + a.w / 2, b.x + b.w / 2) - std::max(a.x - a.w / 2, b.x - b.w / 2);
  const double h = std::min(a.y + a.h / 2, b.y + b.h / 2) - std::max(a.y - a.h / 2, b.y - b.h / 2);
  return w > 0 && h > 0 ? w * h / (a.w * a.h + b.w * b.h - w * h) : 0;
}

/// Of each prediction what it should be.
struct Wanted {
  bool has_box = false, overlaps = false;
  PlainBox box = {};
};

/// Index of number c of a prediction.
size_t place(int64_t item, int64_t anchor, int64_t c, int64_t cell) {
  return static_cast<size_t>(((item * kAnchors + anchor) * kNumbers + c) * kCells + cell);
}

std::vector<PlainBox> boxes_of(int64_t item) {
  std::vector<PlainBox> boxes;
  for (size_t row = 0; row < kBoxes.size(); row += 8) {
    const double* b = kBoxes.data() + row;
    if (b[0] != static_cast<double>(item) || b[5] == b[3]) continue;
    boxes.push_back({b[1] - 1, (b[3] + b[5]) / 2, (b[4] + b[6]) / 2, b[5] - b[3], b[6] - b[4]});
  }
  return boxes;
}

/// In the loops of the paper's code: first all predictions, then box by box. Counts over items, anchors, cells.
std::vector<Wanted> wanted_of(const Array& x, bool match_anchors) {
  std::vector<Wanted> wanted(static_cast<size_t>(kItems * kAnchors * kCells));
  const auto at = [&](int64_t item, int64_t n, int64_t cell) -> Wanted& {
    return wanted[static_cast<size_t>((item * kAnchors + n) * kCells + cell)];
  };
  const auto predicted = [&](int64_t item, int64_t n, int64_t cell) {
    const auto number = [&](int64_t c) { return x[place(item, n, c, cell)]; };
    return PlainBox{0, (static_cast<double>(cell % kWidth) + sigmoid(number(0))) / kWidth,
                    (static_cast<double>(cell / kWidth) + sigmoid(number(1))) / kHeight,
                    std::exp(number(2)) * kSizes[n][0] / kWidth, std::exp(number(3)) * kSizes[n][1] / kHeight};
  };
  for (int64_t item = 0; item < kItems; ++item) {
    for (const PlainBox& box : boxes_of(item)) {
      for (int64_t n = 0; n < kAnchors; ++n) {
        for (int64_t cell = 0; cell < kCells; ++cell) {
          if (common_part(predicted(item, n, cell), box) > 0.3) at(item, n, cell).overlaps = true;
        }
      }
      const int64_t cell = static_cast<int64_t>(box.y * kHeight) * kWidth + static_cast<int64_t>(box.x * kWidth);
      double most = 0;
      int64_t best = 0;
      for (int64_t n = 0; n < kAnchors; ++n) {
        PlainBox size = predicted(item, n, cell);
        if (match_anchors) size = {0, 0, 0, kSizes[n][0] / kWidth, kSizes[n][1] / kHeight};
        size.x = box.x, size.y = box.y;
        if (common_part(size, box) > most) most = common_part(size, box), best = n;
      }
      at(item, best, cell).has_box = true;
      at(item, best, cell).box = box;
    }
  }
  return wanted;
}

double huber(double d) { return std::abs(d) <= 1 ? d * d / 2 : std::abs(d) - 0.5; }

/// What the errors are the derivatives of, with what is wanted held fast.
double energy(const Array& x, const std::vector<Wanted>& wanted) {
  double sum = 0;
  for (int64_t p = 0; p < kItems * kAnchors * kCells; ++p) {
    const int64_t item = p / kCells / kAnchors, n = p / kCells % kAnchors, cell = p % kCells;
    const Wanted& want = wanted[static_cast<size_t>(p)];
    const auto number = [&](int64_t c) { return x[place(item, n, c, cell)]; };
    const double s = sigmoid(number(4));
    if (!want.has_box) {
      if (!want.overlaps) sum += 0.5 * s * s / 2;
      continue;
    }
    const double i = static_cast<double>(cell % kWidth), j = static_cast<double>(cell / kWidth);
    sum += 3 * huber(sigmoid(number(0)) - (want.box.x * kWidth - i));
    sum += 3 * huber(sigmoid(number(1)) - (want.box.y * kHeight - j));
    sum += 3 * huber(number(2) - std::log(want.box.w * kWidth / kSizes[n][0]));
    sum += 3 * huber(number(3) - std::log(want.box.h * kHeight / kSizes[n][1]));
    sum += 5 * std::pow(1 - s, 4) / 2;
    double all = 0;
    for (int64_t c = 0; c < kClasses; ++c) all += std::exp(number(5 + c));
    sum -= 2 * std::log(std::exp(number(5 + static_cast<int64_t>(want.box.label))) / all);
  }
  return sum;
}

TEST(RegionLossTest, GradientIsThatOfTheErrorsAndTheLossTheirSquares) {
  for (const bool match : {true, false}) {
    for (const uint64_t seed : {1, 2, 3}) {
      const KernelCase what = region_case(match ? "" : "bias_match: 0");
      const KernelInputs inputs = make_inputs(what, seed);
      const Array& x = inputs.bottoms[0];
      const std::vector<Wanted> wanted = wanted_of(x, match);
      EXPECT_GE(std::count_if(wanted.begin(), wanted.end(), [](const Wanted& w) { return w.has_box; }), 3);
      KernelHarness harness(what, {});
      harness.forward(inputs.bottoms);
      harness.backward({{1}});
      Array slopes;
      double squares = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        Array up = x, down = x;
        up[i] += 1e-5, down[i] -= 1e-5;
        const double error = (energy(up, wanted) - energy(down, wanted)) / 2e-5;
        slopes.push_back(error / kItems);
        squares += error * error;
      }
      expect_near(harness.bottom_diffs()[0], slopes, 1e-6, "gradient");
      expect_near(harness.tops()[0], {squares}, 1e-6, "loss");
      EXPECT_EQ(harness.damage(), "");
    }
  }
}

TEST(RegionLossTest, KernelsAgree) {
  for (const char* more : {"", "bias_match: 0"}) {
    compare_with_reference("reference", region_case(more), 1e-5);
    compare_gpu_with_reference(region_case(more), 1e-5, {}, "gpu", 16);
  }
}

/// One cell, one anchor of its size, all numbers 0.
TEST(RegionLossTest, ByHand) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto run = [&](const Array& box) {
      KernelHarness harness(
          {{layer_of("num: 1 num_class: 2 biases: 1 biases: 1 side: 1 thresh: 0.6")}, {{1, 7, 1, 1}, {1, 8}}},
          {.backend = backend, .dtype = DType::kF32});
      harness.forward({Array(7, 0.0), box});
      harness.backward({{2}});
      return Arrays{harness.tops()[0], harness.bottom_diffs()[0]};
    };
    // s = 1/2. Without a box: 0.5 s^2 (1 - s) = 1/16.
    const Arrays none = run({-1, 0, 0, 0, 0, 0, 0, 0});
    expect_near(none[1], {0, 0, 0, 0, 0.125, 0, 0}, 1e-6, backend);
    expect_near(none[0], {1.0 / 256}, 1e-6, backend);
    // A box of the anchor's size at x = 0.75: 5 (0.5 - 0.75) / 4; object -2 / 16 / 2; classes of the first.
    const Arrays one = run({0, 1, 0, 0.25, 0, 1.25, 1, 0});
    expect_near(one[1], {-0.625, 0, 0, 0, -0.125, -1, 1}, 1e-6, backend);
    // A box e^-2 as wide: the error of the width is clipped.
    const Arrays narrow = run({0, 2, 0, 0.5 - std::exp(-2.0) / 2, 0, 0.5 + std::exp(-2.0) / 2, 1, 0});
    expect_near(narrow[1], {0, 0, 10, 0, -0.125, 1, -1}, 1e-5, backend);
    // The right edge belongs to the last cell.
    EXPECT_NE(run({0, 1, 0, 0.75, 0, 1.25, 1, 0})[1][0], 0) << backend;
  }
}

/// kBoxes in rows of five: as many for each item, without area where there is none.
KernelCase centred_case(const std::string& more = "") {
  constexpr size_t kRows = 4;
  KernelCase what{{layer_of(kFields + more)}, {{kItems, kAnchors * kNumbers, kHeight, kWidth}, {kItems, kRows * 5}}};
  what.bottom_values = [](int bottom, const Shape&) {
    Array rows;
    for (int64_t item = 0; bottom == 1 && item < kItems; ++item) {
      for (const PlainBox& box : boxes_of(item)) rows.insert(rows.end(), {box.label, box.x, box.y, box.w, box.h});
      rows.resize(static_cast<size_t>(item + 1) * kRows * 5, 0);
    }
    return rows;
  };
  return what;
}

/// The errors of one prediction, as MobileNet-YOLO's loops write them; zeros where there is none.
Array errors_of_centred(const Array& x, int64_t p, const Wanted& want, bool rescore) {
  const int64_t item = p / kCells / kAnchors, n = p / kCells % kAnchors, cell = p % kCells;
  const auto number = [&](int64_t c) { return x[place(item, n, c, cell)]; };
  Array errors(kNumbers, 0);
  const double s = sigmoid(number(4));
  if (!want.has_box) {
    if (!want.overlaps) errors[4] = -0.5 * (0 - s) * s * (1 - s);
    return errors;
  }
  const PlainBox& box = want.box;
  const double i = static_cast<double>(cell % kWidth), j = static_cast<double>(cell / kWidth);
  const double sx = sigmoid(number(0)), sy = sigmoid(number(1));
  const PlainBox guess{0, (i + sx) / kWidth, (j + sy) / kHeight, std::exp(number(2)) * kSizes[n][0] / kWidth,
                       std::exp(number(3)) * kSizes[n][1] / kHeight};
  const double k = rescore ? 3 : 3 * (2 - box.w * box.h);
  errors[0] = -k * (box.x * kWidth - i - sx) * sx * (1 - sx);
  errors[1] = -k * (box.y * kHeight - j - sy) * sy * (1 - sy);
  errors[2] = -k * (std::log(box.w * kWidth / kSizes[n][0]) - number(2));
  errors[3] = -k * (std::log(box.h * kHeight / kSizes[n][1]) - number(3));
  errors[4] = -5 * ((rescore ? common_part(guess, box) : 1) - s) * s * (1 - s);
  double all = 0;
  for (int64_t c = 0; c < kClasses; ++c) all += std::exp(number(5 + c));
  for (int64_t c = 0; c < kClasses; ++c) {
    errors[static_cast<size_t>(5 + c)] = -2 * ((c == static_cast<int64_t>(box.label)) - std::exp(number(5 + c)) / all);
  }
  return errors;
}

TEST(RegionLossTest, RowsOfFiveHaveTheErrorsOfTheirForks) {
  for (const char* backend : {"reference", "gpu"}) {
    for (const bool rescore : {true, false}) {
      const KernelCase what = centred_case(rescore ? "" : "rescore: 0");
      const KernelInputs inputs = make_inputs(what, 4);
      const Array& x = inputs.bottoms[0];
      const std::vector<Wanted> wanted = wanted_of(x, true);
      Array slopes(x.size());
      double squares = 0;
      for (int64_t p = 0; p < kItems * kAnchors * kCells; ++p) {
        const Array errors = errors_of_centred(x, p, wanted[static_cast<size_t>(p)], rescore);
        for (int64_t c = 0; c < kNumbers; ++c) {
          const double error = errors[static_cast<size_t>(c)];
          slopes[place(p / kCells / kAnchors, p / kCells % kAnchors, c, p % kCells)] = error / kItems;
          squares += error * error;
        }
      }
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      harness.forward(inputs.bottoms);
      harness.backward({{1}});
      expect_near(harness.bottom_diffs()[0], slopes, 1e-5, backend);
      expect_near(harness.tops()[0], {squares / kItems}, 1e-4 * squares, backend);
    }
  }
}

TEST(RegionLossTest, KernelsAgreeOnRowsOfFive) {
  for (const char* more : {"", "bias_match: 0", "rescore: 0"}) {
    compare_with_reference("reference", centred_case(more), 1e-5);
    compare_gpu_with_reference(centred_case(more), 1e-5, {}, "gpu", 16);
  }
}

TEST(RegionLossTest, RescoreIsForRowsOfFive) {
  const auto warned = [](const KernelCase& what) {
    const LogLines lines;
    const KernelHarness harness(what, {.backend = "reference"});
    return contains(lines.text(), "region_loss_param.rescore changes nothing");
  };
  EXPECT_TRUE(warned(region_case("rescore: 0", kBoxes)));
  EXPECT_FALSE(warned(region_case("rescore: 1", kBoxes)));
  EXPECT_FALSE(warned(centred_case("rescore: 0")));
}

TEST(RegionLossTest, BadRowsOfFive) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto expect_bad = [&](size_t column, double value, const std::string& cause) {
      const KernelCase what = centred_case();
      KernelInputs inputs = make_inputs(what);
      inputs.bottoms[1][5 * 5 + column] = value;  // the second box of item 1
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward(inputs.bottoms); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "box 1 of sample 6: " + cause)) << error.cause();
    };
    expect_bad(0, 3, "class 3 is out of range 0..2");
    expect_bad(0, -1, "class -1 is out of range 0..2");
    expect_bad(1, 1.5, "x 1.5 is no part of the image");
    expect_bad(2, std::nan(""), "y nan is no part of the image");
    expect_bad(3, -0.5, "width -0.5 is no part of the image");
    expect_bad(3, 2, "width 2 is no part of the image");
    expect_bad(4, std::nan(""), "height nan is no part of the image");
  }
}

TEST(RegionLossTest, BadBoxes) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto expect_bad = [&](size_t column, double value, const std::string& cause) {
      Array boxes = kBoxes;
      boxes[2 * 8 + column] = value;
      KernelHarness harness(region_case("", boxes), {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward(make_inputs(region_case("", boxes)).bottoms); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "row 2 of bottom 1 (batch at sample 5): " + cause)) << error.cause();
    };
    expect_bad(0, 2, "item 2 is out of range 0..1");
    expect_bad(0, std::nan(""), "item nan is out of range");
    expect_bad(1, 0, "class 0 is out of range 1..3");
    expect_bad(1, 4, "class 4 is out of range 1..3");
    expect_bad(3, 9, "the centre of the box lies outside of the image; xmin is 9");
    expect_bad(4, std::nan(""), "the centre of the box lies outside of the image; ymin is nan");
    expect_bad(5, 0, "the box is upside down; xmax is 0");
    expect_bad(6, 0, "the box is upside down; ymax is 0");
  }
}

TEST(RegionLossTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    KernelCase what = region_case();
    what.layers = {layer_of(param)};
    expect_config_error(what, cause, "region_loss_param." + field);
  };
  const std::string two = "num: 2 num_class: 3 biases: 1 biases: 1 biases: 2 ";
  expect_refused("num: 2 num_class: 3", "no biases are given", "biases");
  expect_refused(two, "there are 3 biases", "biases");
  expect_refused("num: 2 num_class: 3 biases: 1 biases: 1", "there are 2 biases for 2 anchors", "biases");
  expect_refused(two + "biases: -1", "a bias is -1", "biases");
  expect_refused("num: 0", "num is 0", "num");
  expect_refused("num_class: 0", "num_class is 0", "num_class");
  expect_refused(two + "biases: 2 coords: 5", "coords is 5", "coords");
  expect_refused(two + "biases: 2 thresh: nan", "thresh is nan", "thresh");
  EXPECT_NO_THROW(KernelHarness({{layer_of(two + "biases: 2 side: 4")}, {{1, 16, 3, 4}, {1, 8}}}, {}));  // as the forks
  KernelCase what = region_case();
  what.bottoms[0] = {2, 17, 3, 4};
  expect_config_error(what, "bottom 0 has shape 2 17 3 4", "bottom");
  what = region_case();
  what.bottoms[1] = {7, 5};
  expect_config_error(what, "bottom 1 has shape 7 5", "bottom");
  const KernelHarness harness(region_case(), {});
  EXPECT_TRUE(harness.wants_bottom(0));
  EXPECT_FALSE(harness.wants_bottom(1));
}

}  // namespace
}  // namespace robusta::test::region_loss_test
