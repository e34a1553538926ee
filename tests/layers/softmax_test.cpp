#include <gtest/gtest.h>

#include <cmath>

#include "support/blocked.h"

namespace robusta::test::softmax_test {
namespace {

KernelCase softmax(const Shape& bottom, const std::string& param = "") {
  return {{"type: 'Softmax' softmax_param { " + param + " }"}, {bottom}};
}

TEST(SoftmaxTest, Gradients) {
  check_gradients(softmax({3, 5}));
  check_gradients(softmax({2, 4, 3, 2}));
  check_gradients(softmax({2, 4, 3, 2}, "axis: 2"));
  check_gradients(softmax({2, 3, 4}, "axis: -1"));
  check_gradients(softmax({4, 3}, "axis: 0"));
}

TEST(SoftmaxTest, KernelsAgree) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 17}, Shape{5, 1000}, Shape{2, 3, 5, 7}, Shape{2, 21, 19, 31},
                             Shape{64, 10}, Shape{3, 33, 257}}) {
    compare_with_reference("reference", softmax(shape), 2e-6);
    compare_with_reference("native", softmax(shape), 2e-6);
    compare_with_reference("native", softmax(shape, "axis: -1"), 2e-6);
    compare_with_reference("native", softmax(shape, "axis: 0"), 2e-6);
  }
}

TEST(SoftmaxTest, Gpu) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 17}, Shape{5, 1000}, Shape{2, 3, 5, 7}, Shape{3, 33, 257}}) {
    for (const char* axis : {"", "axis: -1", "axis: 0"}) compare_gpu_with_reference(softmax(shape, axis), 2e-6);
  }
  // Positions enough for a thread each.
  for (const Shape& shape : {Shape{2, 21, 91, 97}, Shape{2, 3, 16500}}) {
    compare_gpu_with_reference(softmax(shape, ""), 2e-6);
  }
}

TEST(SoftmaxTest, AsksForPlainTensors) {
  compare_blocked("native", softmax({2, 20, 3, 3}));
  EXPECT_TRUE(layouts_taken("native", softmax({2, 20, 3, 3})).empty());
}

TEST(SoftmaxTest, HugeScoresAndNaN) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{1, 3, 3}}) {  // classes side by side, and apart
      KernelHarness harness(softmax(shape), {.backend = backend, .dtype = DType::kF32, .backward = false});
      const Array rows{1e30, 0, -1e30, -1e30, -1e30, -1e30, 0, NAN, 0};
      Array columns(9);
      for (size_t i = 0; i < 9; ++i) columns[i % 3 * 3 + i / 3] = rows[i];
      harness.forward({shape.axes() == 2 ? rows : columns});
      const Array top = harness.tops()[0];
      const auto at = [&](size_t row, size_t c) { return top[shape.axes() == 2 ? row * 3 + c : c * 3 + row]; };
      EXPECT_EQ(at(0, 0), 1) << backend;
      EXPECT_EQ(at(0, 1), 0) << backend;
      EXPECT_NEAR(at(1, 2), 1.0 / 3, 1e-7) << backend;
      EXPECT_TRUE(std::isnan(at(2, 0))) << backend;
    }
  }
}

TEST(SoftmaxTest, Infinities) {
  const double inf = INFINITY;
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness(softmax({3, 3}), {.backend = backend, .dtype = DType::kF32, .backward = false});
    harness.forward({{-inf, 1, 1, inf, 1, 1, -inf, -inf, -inf}});
    const Array top = harness.tops()[0];
    EXPECT_EQ(Array(top.begin(), top.begin() + 3), (Array{0, 0.5, 0.5})) << backend;
    for (size_t i = 3; i < 9; ++i) EXPECT_TRUE(std::isnan(top[i])) << backend << ' ' << i;
  }
}

TEST(SoftmaxTest, AxisMustExist) { expect_config_error(softmax({3, 5}, "axis: 2"), "axis 2", "softmax_param.axis"); }

}  // namespace
}  // namespace robusta::test::softmax_test
