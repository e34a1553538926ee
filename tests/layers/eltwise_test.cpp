#include <gtest/gtest.h>

#include "support/blocked.h"

namespace robusta::test::eltwise_test {
namespace {

std::vector<Shape> copies(int count, const Shape& shape) {
  return std::vector<Shape>(static_cast<size_t>(count), shape);
}

/// All operations over `shape`.
std::vector<KernelCase> cases(const Shape& shape) {
  return {
      {{"type: 'Eltwise'"}, copies(2, shape)},
      {{"type: 'Eltwise'"}, copies(5, shape)},
      {{"type: 'Eltwise' eltwise_param { coeff: 1 coeff: -1 }"}, copies(2, shape)},
      {{"type: 'Eltwise' eltwise_param { coeff: 0.5 coeff: -2 coeff: 3 }"}, copies(3, shape)},
      {{"type: 'Eltwise' eltwise_param { operation: PROD }"}, copies(2, shape)},
      {{"type: 'Eltwise' eltwise_param { operation: PROD }"}, copies(4, shape)},
      {{"type: 'Eltwise' eltwise_param { operation: MAX }"}, copies(2, shape)},
      {{"type: 'Eltwise' eltwise_param { operation: MAX }"}, copies(4, shape)},
  };
}

std::vector<KernelCase> fused_cases(const Shape& shape) {
  return {
      {{"type: 'Eltwise'", "type: 'ReLU'"}, copies(2, shape)},
      {{"type: 'Eltwise'", "type: 'ReLU' relu_param { negative_slope: 0.1 }"}, copies(3, shape)},
      {{"type: 'Eltwise' eltwise_param { coeff: 2 coeff: -1 }", "type: 'ReLU'"}, copies(2, shape)},
  };
}

const KernelCase kDividing{{"type: 'Eltwise' eltwise_param { operation: PROD stable_prod_grad: false }"},
                           {{2, 3}, {2, 3}, {2, 3}}};

TEST(EltwiseTest, Gradients) {
  for (const KernelCase& c : cases({2, 3, 4})) check_gradients(c);
  check_gradients(kDividing);
}

TEST(EltwiseTest, SinglePrecision) {
  for (const KernelCase& c : cases({2, 3, 5})) compare_with_reference("reference", c);
}

TEST(EltwiseTest, NativeAgreesOverManySizes) {
  for (const Shape& shape : {Shape{1}, Shape{2, 3, 5}, Shape{2047}, Shape{3, 11003}}) {
    for (const KernelCase& c : cases(shape)) compare_with_reference("native", c, 2e-6);
    for (const KernelCase& c : fused_cases(shape)) compare_with_reference("native", c, 2e-6);
  }
}

TEST(EltwiseTest, Gpu) {
  for (const Shape& shape : {Shape{1}, Shape{2, 3, 5}, Shape{2, 20, 3, 5}, Shape{3, 11003}}) {
    for (const KernelCase& c : cases(shape)) compare_gpu_with_reference(c, 2e-6);
    for (const KernelCase& c : fused_cases(shape)) compare_gpu_with_reference(c, 2e-6);
  }
  compare_gpu_with_reference(kDividing);
  // More terms than one kernel adds.
  compare_gpu_with_reference({{"type: 'Eltwise'"}, copies(19, {3, 5})});
  compare_gpu_with_reference({{"type: 'Eltwise'", "type: 'ReLU'"}, copies(19, {3, 5})});
}

TEST(EltwiseTest, NativeTakesBlockedLayouts) {
  for (const Shape& shape : {Shape{2, 32, 3, 5}, Shape{2, 20, 3, 5}}) {
    for (const KernelCase& c : cases(shape)) compare_blocked("native", c, 2e-6);
    for (const KernelCase& c : fused_cases(shape)) compare_blocked("native", c, 2e-6);
  }
}

TEST(EltwiseTest, TheFirstLayoutThatIsNotPlainWins) {
  const Shape shape{2, 20, 3, 5};
  const KernelCase what{{"type: 'Eltwise'"}, copies(3, shape)};
  const Layout blocked = blocked16(shape);
  KernelOptions how{.backend = "native", .dtype = DType::kF32, .bottom_layouts = {nullptr, blocked, nullptr}};
  const Booking booking = KernelHarness(what, how).kernel().booking();
  for (const Layout& layout : booking.bottom_layouts) EXPECT_TRUE(same_layout(layout, blocked));
  EXPECT_TRUE(same_layout(booking.top_layouts[0], blocked));
}

TEST(EltwiseTest, MaximumTies) {
  // Bottom 1 beats an equal bottom 0; bottom 2 must be larger than both.
  const Arrays bottoms{{5, 1, 4, 2}, {5, 1, 3, 2}, {5, 2, 4, 2}};
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness({{"type: 'Eltwise' eltwise_param { operation: MAX }"}, copies(3, {4})},
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward(bottoms);
    harness.backward({{10, 20, 30, 40}});
    EXPECT_EQ(harness.tops()[0], (Array{5, 2, 4, 2})) << backend;
    EXPECT_EQ(harness.bottom_diffs(), (Arrays{{0, 0, 30, 0}, {10, 0, 0, 40}, {0, 20, 0, 0}})) << backend;
  }
}

TEST(EltwiseTest, StableProductGradientIsFiniteAtZero) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness({{"type: 'Eltwise' eltwise_param { operation: PROD }"}, copies(2, {2})},
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({{0, 3}, {2, 0}});
    harness.backward({{1, 1}});
    EXPECT_EQ(harness.bottom_diffs(), (Arrays{{2, 0}, {0, 3}})) << backend;
  }
}

TEST(EltwiseTest, Declines) {
  expect_declined("native", kDividing, "divide");
  expect_declined("native", {{"type: 'Eltwise' eltwise_param { operation: MAX }", "type: 'ReLU'"}, copies(2, {3})},
                  "only a sum");
  expect_declined("native", {{"type: 'Eltwise'", "type: 'ReLU' relu_param { negative_slope: -1 }"}, copies(2, {3})},
                  "negative slope");
}

TEST(EltwiseTest, Errors) {
  expect_config_error({{"type: 'Eltwise'"}, {{2, 3}, {3, 2}}}, "must be equal", "bottom");
  expect_config_error({{"type: 'Eltwise' eltwise_param { coeff: 1 }"}, copies(2, {2})}, "2 bottoms",
                      "eltwise_param.coeff");
  expect_config_error({{"type: 'Eltwise' eltwise_param { operation: MAX coeff: 1 coeff: 1 }"}, copies(2, {2})},
                      "sums only", "eltwise_param.coeff");
}

}  // namespace
}  // namespace robusta::test::eltwise_test
