// Yolov3.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::yolov3_test {
namespace {

constexpr int64_t kItems = 2, kAnchors = 2, kClasses = 3, kNumbers = 5 + kClasses, kHeight = 3, kWidth = 4;
constexpr int64_t kCells = kHeight * kWidth, kRows = 4;
/// Of four anchors the second and the last are this scale's. An image of 32 x 24 pixels.
const double kSizes[4][2] = {{4, 4}, {8, 12}, {20, 6}, {24, 20}};
const int64_t kMask[kAnchors] = {3, 1};
const std::string kFields =
    "num: 2 num_class: 3 anchors_scale: 8 mask: 3 mask: 1 object_scale: 5 class_scale: 2 coord_scale: 3 thresh: 0.4 "
    "biases: 4 biases: 4 biases: 8 biases: 12 biases: 20 biases: 6 biases: 24 biases: 20 ";

std::string layer_of(const std::string& param) { return "type: 'Yolov3' yolov3_param { " + param + " }"; }

/// The first item: two boxes of one prediction, one that is near both anchors; the second: one of another scale, and
/// nothing that lies behind the first row of width 0.
const Array kBoxes = [] {
  Array boxes{0, 0.3, 0.4,  0.25, 0.5,  2, 0.32, 0.42, 0.28, 0.5, 1, 0.7, 0.8, 0.5, 0.7, 1, 0.1, 0.9, 0.8, 0.85,  //
              2, 0.6, 0.55, 0.12, 0.15, 1, 1,    1,    0,    9,   9, 9,   9,   9,   9,   9, 9,   9,   9,   9};
  for (double& number : boxes) number = static_cast<float>(number);
  return boxes;
}();

KernelCase yolo_case(const std::string& more = "", const Array& boxes = kBoxes) {
  KernelCase what{{layer_of(kFields + more)}, {{kItems, kAnchors * kNumbers, kHeight, kWidth}, {kItems, kRows * 5}}};
  what.bottom_values = [boxes](int bottom, const Shape&) { return bottom == 1 ? boxes : Array{}; };
  return what;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double common_part(double ax, double ay, double aw, double ah, const double* b) {
  const double w = std::min(ax + aw / 2, b[1] + b[3] / 2) - std::max(ax - aw / 2, b[1] - b[3] / 2);
  const double h = std::min(ay + ah / 2, b[2] + b[4] / 2) - std::max(ay - ah / 2, b[2] - b[4] / 2);
  return w > 0 && h > 0 ? w * h / (aw * ah + b[3] * b[4] - w * h) : 0;
}

size_t place(int64_t item, int64_t anchor, int64_t c, int64_t cell) {
  return static_cast<size_t>(((item * kAnchors + anchor) * kNumbers + c) * kCells + cell);
}

struct Plain {
  double iou_thresh = 0.5, smoothing = 0.1f, object = 1;

  /// Of each number its error: first all predictions, then box by box.
  Array errors(const Array& x, int& boxes_found) const {
    Array errors(x.size(), 0.0);
    for (int64_t item = 0; item < kItems; ++item) {
      for (int64_t n = 0; n < kAnchors; ++n) {
        for (int64_t cell = 0; cell < kCells; ++cell) errors[place(item, n, 4, cell)] = without_box(x, item, n, cell);
      }
      for (const double* box : boxes(item)) {
        const int64_t cell = static_cast<int64_t>(box[2] * kHeight) * kWidth + static_cast<int64_t>(box[1] * kWidth);
        for (const int64_t n : anchors_of(box)) {
          ++boxes_found;
          with_box(x, item, n, cell, box, errors);
        }
      }
    }
    return errors;
  }

 private:
  static std::vector<const double*> boxes(int64_t item) {
    std::vector<const double*> found;
    for (int64_t row = 0; row < kRows; ++row) {
      const double* box = kBoxes.data() + (item * kRows + row) * 5;
      if (box[3] == 0) break;
      found.push_back(box);
    }
    return found;
  }

  static double without_box(const Array& x, int64_t item, int64_t n, int64_t cell) {
    const auto number = [&](int64_t c) { return x[place(item, n, c, cell)]; };
    const double px = (static_cast<double>(cell % kWidth) + sigmoid(number(0))) / kWidth;
    const double py = (static_cast<double>(cell / kWidth) + sigmoid(number(1))) / kHeight;
    const double w = std::exp(number(2)) * kSizes[kMask[n]][0] / 32, h = std::exp(number(3)) * kSizes[kMask[n]][1] / 24;
    for (const double* box : boxes(item)) {
      if (common_part(px, py, w, h, box) > 0.4) return 0;
    }
    return sigmoid(number(4));
  }

  std::vector<int64_t> anchors_of(const double* box) const {
    const auto common = [&](int64_t anchor) {
      return common_part(box[1], box[2], kSizes[anchor][0] / 32, kSizes[anchor][1] / 24, box);
    };
    int64_t best = 0;
    for (int64_t a = 1; a < 4; ++a) {
      if (common(a) > common(best)) best = a;
    }
    std::vector<int64_t> found;
    for (int64_t n = 0; n < kAnchors; ++n) {
      if (kMask[n] == best || common(kMask[n]) > iou_thresh) found.push_back(n);
    }
    return found;
  }

  void with_box(const Array& x, int64_t item, int64_t n, int64_t cell, const double* box, Array& errors) const {
    const auto number = [&](int64_t c) { return x[place(item, n, c, cell)]; };
    const double scale = 3 * (2 - box[3] * box[4]);
    const double i = static_cast<double>(cell % kWidth), j = static_cast<double>(cell / kWidth);
    errors[place(item, n, 0, cell)] = scale * (sigmoid(number(0)) - (box[1] * kWidth - i));
    errors[place(item, n, 1, cell)] = scale * (sigmoid(number(1)) - (box[2] * kHeight - j));
    errors[place(item, n, 2, cell)] = scale * (number(2) - std::log(box[3] * 32 / kSizes[kMask[n]][0]));
    errors[place(item, n, 3, cell)] = scale * (number(3) - std::log(box[4] * 24 / kSizes[kMask[n]][1]));
    errors[place(item, n, 4, cell)] = object * (sigmoid(number(4)) - 1);
    const auto label = static_cast<int64_t>(box[0]);
    const bool further = errors[place(item, n, 5 + label, cell)] != 0;
    for (int64_t c = 0; c < kClasses; ++c) {
      if (further && c != label) continue;
      const double want = c == label ? 1 - smoothing / 2 : smoothing / 2;
      errors[place(item, n, 5 + c, cell)] = 2 * (sigmoid(number(5 + c)) - want);
    }
  }
};

void expect_plain(const std::string& more, const Plain& plain, bool logic) {
  for (const uint64_t seed : {1, 2, 3}) {
    const KernelCase what = yolo_case(more);
    const KernelInputs inputs = make_inputs(what, seed);
    int boxes = 0;
    Array want = plain.errors(inputs.bottoms[0], boxes);
    EXPECT_GE(boxes, 3);
    double squares = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      squares += want[i] * want[i] / kItems;
      const auto c = static_cast<int64_t>(i) / kCells % kNumbers;
      const double s = sigmoid(inputs.bottoms[0][i]);
      want[i] *= (logic && c != 2 && c != 3 ? s * (1 - s) : 1.0) / kItems;
    }
    KernelHarness harness(what, {});
    harness.forward(inputs.bottoms);
    harness.backward({{1}});
    expect_near(harness.bottom_diffs()[0], want, 1e-10, more);
    expect_near(harness.tops()[0], {squares}, 1e-10, more);
    EXPECT_EQ(harness.damage(), "");
  }
}

TEST(Yolov3Test, IsWhatPlainLoopsFind) {
  expect_plain("", {}, false);
  expect_plain("iou_thresh: 1 label_smooth_eps: 0", {.iou_thresh = 1, .smoothing = 0}, false);
  expect_plain("iou_thresh: 0.3 label_smooth_eps: 0.2 use_logic_gradient: true",
               {.iou_thresh = 0.3, .smoothing = 0.2f, .object = 5}, true);
}

/// Without use_logic_gradient the errors are the derivatives of cross entropies, and of squares for sizes.
TEST(Yolov3Test, GradientsAreThoseOfCrossEntropies) {
  KernelCase what{{layer_of("num: 1 num_class: 2 anchors_scale: 8 mask: 0 biases: 8 biases: 8 coord_scale: 2 "
                            "label_smooth_eps: 0.1")},
                  {{1, 7, 1, 1}, {1, 5}}};
  const Array box{1, 0.25, 0.5, 0.5, 0.8};
  const auto energy = [&](const Array& x) {
    const auto entropy = [&](size_t i, double want) {
      return -want * std::log(sigmoid(x[i])) - (1 - want) * std::log(1 - sigmoid(x[i]));
    };
    const auto square = [&](size_t i, double want) { return (x[i] - want) * (x[i] - want) / 2; };
    return 2 * 1.6 * (entropy(0, 0.25) + entropy(1, 0.5) + square(2, std::log(0.5)) + square(3, std::log(0.8))) +
           entropy(4, 1) + entropy(5, 0.05) + entropy(6, 0.95);
  };
  const Array x{0.3, -0.7, 0.2, -0.4, 1.1, 0.6, -0.5};
  Array slopes;
  for (size_t i = 0; i < x.size(); ++i) {
    Array up = x, down = x;
    up[i] += 1e-5, down[i] -= 1e-5;
    slopes.push_back((energy(up) - energy(down)) / 2e-5);
  }
  KernelHarness harness(what, {});
  harness.forward({x, box});
  harness.backward({{1}});
  expect_near(harness.bottom_diffs()[0], slopes, 1e-7, "gradient");
}

TEST(Yolov3Test, KernelsAgree) {
  for (const char* more : {"", "use_logic_gradient: true iou_thresh: 0.3"}) {
    compare_with_reference("reference", yolo_case(more), 1e-5);
    compare_gpu_with_reference(yolo_case(more), 1e-5, {}, "gpu", 16);
  }
}

TEST(Yolov3Test, BadBoxes) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto expect_bad = [&](size_t column, double value, const std::string& cause) {
      Array boxes = kBoxes;
      boxes[5 * 5 + 3] = boxes[5 * 5 + 4] = 0.5;
      boxes[6 * 5 + 3] = 0;
      boxes[5 * 5 + column] = value;
      const KernelCase what = yolo_case("", boxes);
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward(make_inputs(what).bottoms); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "box 1 of sample 6: " + cause)) << error.cause();
    };
    expect_bad(0, 3, "class 3 is out of range 0..2");
    expect_bad(0, -1, "class -1 is out of range 0..2");
    expect_bad(1, 1.5, "x 1.5 is outside of the image");
    expect_bad(2, std::nan(""), "y nan is outside of the image");
    expect_bad(3, -0.5, "width -0.5 is no positive part");
    expect_bad(3, std::nan(""), "width nan is no positive part");
    expect_bad(4, 0, "height 0 is no positive part");
  }
}

TEST(Yolov3Test, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    KernelCase what = yolo_case();
    what.layers = {layer_of(param)};
    expect_config_error(what, cause, "yolov3_param." + field);
  };
  const std::string one = "num: 1 num_class: 3 biases: 1 biases: 1 ";
  expect_refused("num: 1", "no biases are given", "biases");
  expect_refused("num: 1 biases: 3", "there are 1 biases", "biases");
  expect_refused(one, "there are 0 mask for num 1", "mask");
  expect_refused(one + "mask: 1", "mask 1 is out of range 0..0", "mask");
  expect_refused("num: 2 biases: 1 biases: 1 mask: 0 mask: 0", "mask 0 stands twice", "mask");
  expect_refused(one + "mask: 0 anchors_scale: 0", "it is 0", "anchors_scale");
  expect_refused(one + "mask: 0 coord_scale: inf", "coord_scale is inf", "coord_scale");
  expect_refused("num: 0", "num is 0", "num");
  expect_refused("num_class: 0", "num_class is 0", "num_class");
  KernelCase what = yolo_case();
  what.bottoms[0] = {2, 15, 3, 4};
  expect_config_error(what, "bottom 0 has shape 2 15 3 4", "bottom");
  what = yolo_case();
  what.bottoms[1] = {2, 6};
  expect_config_error(what, "bottom 1 has shape 2 6", "bottom");
  what.bottoms[1] = {4, 10};
  expect_config_error(what, "bottom 0 has 2 items and bottom 1 4", "bottom");
}

}  // namespace
}  // namespace robusta::test::yolov3_test
