// CenterLoss.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::center_loss_test {
namespace {

KernelCase loss(const std::string& param, const Shape& features, int64_t classes = 4) {
  const std::string fields = "num_output: " + std::to_string(classes) + " " + param;
  KernelCase what{{"type: 'CenterLoss' center_loss_param { " + fields + " }"}, {features, {features[0]}}};
  what.bottom_values = [classes](int bottom, const Shape& shape) {
    Array labels;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) labels.push_back(static_cast<double>(i * i % classes));
    return labels;
  };
  return what;
}

TEST(CenterLossTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto run = [&](const std::string& param, bool adds) {
      KernelCase what = loss(param, {3, 2}, 3);
      what.layers[0] += " loss_weight: 6";
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2, 3, 3, 0, 0}, {2, 0, 2}}, {{1, 1, 5, 5, 0, 4}});
      harness.backward({{6}}, adds ? Arrays{{1, 1, 1, 1, 1, 1}} : Arrays{});
      return Arrays{harness.tops()[0], harness.bottom_diffs()[0], harness.param_diffs()[0]};
    };
    // Differences: (1, -2), (2, 2), (0, -4).
    const Arrays squares = run("", false);
    expect_near(squares[0], {(5.0 + 8 + 16) / 6}, 1e-6, backend);
    expect_near(squares[1], {2, -4, 4, 4, 0, -8}, 1e-6, backend);
    expect_near(squares[2], {-1, -1, 0, 0, -1.0 / 3, 2}, 1e-6, backend);
    expect_near(run("", true)[2], {0, 0, 1, 1, 2.0 / 3, 3}, 1e-6, backend);
    const Arrays absolutes = run("distance_type: 'L1'", false);
    expect_near(absolutes[0], {(3.0 + 4 + 4) / 3}, 1e-6, backend);
    expect_near(absolutes[1], {2, -2, 2, 2, 0, -2}, 1e-6, backend);
    expect_near(absolutes[2], {-0.5, -0.5, 0, 0, -1.0 / 3, 2.0 / 3}, 1e-6, backend);
  }
}

TEST(CenterLossTest, CentresHaveTheLossScale) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelCase what = loss("", {1, 1}, 1);
    what.layers[0] += " loss_weight: 0.5";
    KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
    harness.forward({{3}, {0}}, {{1}});
    harness.backward({{512}});
    expect_near(harness.param_diffs()[0], {-1024}, 1e-6, backend);
  }
}

/// Of the features; that of the centres is no derivative.
TEST(CenterLossTest, GradientOfTheFeatures) {
  for (const char* param : {"", "distance_type: 'L1'", "axis: 1"}) {
    const KernelCase what = loss(param, {5, 3});
    KernelInputs inputs = make_inputs(what);
    KernelHarness harness(what, {});
    const auto loss_at = [&](size_t i, double step) {
      Arrays bottoms = inputs.bottoms;
      bottoms[0][i] += step;
      harness.forward(bottoms, inputs.params);
      return harness.tops()[0][0];
    };
    Array slopes;
    for (size_t i = 0; i < 15; ++i) slopes.push_back(3 * (loss_at(i, 1e-5) - loss_at(i, -1e-5)) / 2e-5);
    loss_at(0, 0);
    harness.backward({{3}});
    expect_near(harness.bottom_diffs()[0], slopes, 1e-7, param);
  }
}

TEST(CenterLossTest, KernelsAgree) {
  for (const KernelCase& c : {loss("", {6, 5}), loss("distance_type: 'L1'", {7, 2, 3}), loss("", {300, 33}, 17)}) {
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(CenterLossTest, BadLabels) {
  for (const char* backend : {"reference", "gpu"}) {
    const Error error = error_of([&] {
      KernelHarness harness(loss("", {3, 1}, 2), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2, 3}, {0, 2, -1}}, {{0, 0}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.cause(), "label 2 at sample 6 is out of range 0..1") << backend;
  }
}

TEST(CenterLossTest, Errors) {
  const auto of = [](const std::string& param) {
    return KernelCase{{"type: 'CenterLoss' center_loss_param { " + param + " }"}, {{3, 2}, {3}}};
  };
  expect_config_error(of(""), "no num_output is given", "center_loss_param.num_output");
  expect_config_error(of("num_output: 0"), "num_output is 0", "center_loss_param.num_output");
  expect_config_error(of("num_output: 2 distance_type: 'cos'"), "distance_type is \"cos\"",
                      "center_loss_param.distance_type");
  expect_config_error(of("num_output: 2 axis: 2"), "axis", "center_loss_param.axis");
  expect_config_error(of("num_output: 2 axis: 0"), "there are 1 samples", "bottom");
}

}  // namespace
}  // namespace robusta::test::center_loss_test
