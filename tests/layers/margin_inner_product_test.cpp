// LargeMarginInnerProduct and MarginInnerProduct.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::margin_inner_product_test {
namespace {

KernelCase product(const std::string& type, const std::string& param, const Shape& bottom, int64_t classes,
                   int tops = 1) {
  const std::string message =
      type == "MarginInnerProduct" ? "margin_inner_product_param" : "largemargin_inner_product_param";
  KernelCase what{
      {"type: '" + type + "' " + message + " { num_output: " + std::to_string(classes) + " " + param + " }"},
      {bottom, {bottom[0]}}};
  what.tops = tops;
  what.bottom_values = [classes](int index, const Shape& shape) {
    Array labels;
    for (int64_t i = 0; index == 1 && i < shape.count(); ++i) labels.push_back(static_cast<double>(i * i % classes));
    return labels;
  };
  return what;
}
const std::string kLarge = "LargeMarginInnerProduct", kSphere = "MarginInnerProduct";
const char* const kTypes[] = {"SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"};

/// psi of an angle, by its definition.
double psi(int m, double angle) {
  const double k = std::floor(m * angle / M_PI);
  return (std::fmod(k, 2) == 0 ? 1 : -1) * std::cos(m * angle) - 2 * k;
}

/// One sample of length 2 at each of many angles to its class, of length 3.
TEST(MarginInnerProductTest, ScoresOfAllAngles) {
  for (const char* backend : {"reference", "gpu"}) {
    for (int m = 1; m <= 4; ++m) {
      for (const std::string& type : {kLarge, kSphere}) {
        const double length = type == kLarge ? 3 : 1;
        const KernelCase what = product(type, std::string("base: 3 type: ") + kTypes[m - 1], {1, 2}, 2, 2);
        for (double angle = 0.1; angle < 3.1; angle += 0.2) {
          KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
          harness.forward({{2 * std::cos(angle), 2 * std::sin(angle)}, {1}}, {{0, 3, 3, 0}});
          const double plain = 2 * length * std::cos(angle);
          const double want = m == 1 ? plain : (2 * length * psi(m, angle) + 3 * plain) / 4;
          expect_near(harness.tops()[0], {2 * length * std::sin(angle), want}, 1e-5, backend);
          EXPECT_EQ(harness.tops()[1][0], 3);
        }
      }
    }
  }
}

TEST(MarginInnerProductTest, LambdaFalls) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto lambda = [&](uint64_t before) {
      const KernelCase what =
          product(kLarge, "type: DOUBLE base: 100 gamma: 0.5 power: 2 lambda_min: 5 iteration: 1", {4, 2}, 2, 2);
      KernelHarness harness(what, {.backend = backend,
                                   .dtype = DType::kF32,
                                   .pass = {.seed = 1, .first_sample = before, .next_sample = before + 4, .batch = 4}});
      const KernelInputs inputs = make_inputs(what);
      harness.forward(inputs.bottoms, inputs.params);
      return harness.tops()[1];
    };
    expect_near(lambda(0), {25}, 1e-5, backend);
    expect_near(lambda(8), {100.0 / 9}, 1e-5, backend);
    expect_near(lambda(4000), {5}, 1e-5, backend);
  }
}

TEST(MarginInnerProductTest, GradientsOfLargeMarginsAreDerivatives) {
  for (const char* type : kTypes) {
    check_gradients(product(kLarge, std::string("base: 0.5 type: ") + type, {5, 4}, 3));
    check_gradients(product(kLarge, std::string("base: 0.5 type: ") + type, {4, 2, 3}, 6, 2));
  }
}

/// On the sphere: of x in the direction of the derivative, of w that of a plain product.
TEST(MarginInnerProductTest, GradientsOnTheSphere) {
  for (int m = 2; m <= 4; ++m) {
    const KernelCase what = product(kSphere, std::string("base: 0 type: ") + kTypes[m - 1], {1, 2}, 2);
    for (double angle = 0.15; angle < 3.1; angle += 0.3) {
      const double x = 2 * std::cos(angle), y = 2 * std::sin(angle);
      KernelHarness harness(what, {});
      harness.forward({{x, y}, {0}}, {{1, 0, 0, 1}});
      harness.backward({{5, 0}});
      // a w + b x of 2 psi(cos): a is the derivative of psi by the cosine.
      const double step = 1e-6, c = std::cos(angle);
      const double a = (psi(m, std::acos(c + step)) - psi(m, std::acos(c - step))) / (2 * step);
      const double b = (psi(m, angle) - c * a) / 2, length = std::sqrt(a * a + b * b);
      expect_near(harness.bottom_diffs()[0], {5 * (a + b * x) / length, 5 * b * y / length}, 1e-6, what.layers[0]);
      expect_near(harness.param_diffs()[0], {5 * x, 5 * y, 0, 0}, 1e-9, what.layers[0]);
    }
  }
}

TEST(MarginInnerProductTest, TrainingScalesWeightsToTheSphere) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelCase what = product(kSphere, "type: DOUBLE", {1, 2}, 3);
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      what.phase = phase;
      KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2}, {0}}, {{3, 4, 0, 0, 0, -2}});
      expect_near(harness.params()[0], phase == caffe::TRAIN ? Array{0.6, 0.8, 0, 0, 0, -1} : Array{3, 4, 0, 0, 0, -2},
                  1e-6, backend);
      EXPECT_NEAR(harness.tops()[0][1], 0, 1e-6);
      EXPECT_NEAR(harness.tops()[0][2], -2, 1e-6) << backend;
    }
  }
}

TEST(MarginInnerProductTest, KernelsAgree) {
  for (const std::string& of : {kLarge, kSphere}) {
    for (const char* type : kTypes) {
      const KernelCase what = product(of, std::string("base: 0.5 type: ") + type, {7, 5}, 4, 2);
      compare_with_reference("reference", what);
      compare_gpu_with_reference(what);
    }
    compare_gpu_with_reference(product(of, "type: QUADRUPLE base: 5", {60, 2, 19}, 33));
  }
}

TEST(MarginInnerProductTest, EveryLibrary) {
  const KernelCase what = product(kLarge, "type: DOUBLE", {64, 200}, 200);
  for (const char* library : {"onednn", "blas"}) {
    Prefer tuner(library);
    KernelHarness harness(what, {.backend = "reference", .dtype = DType::kF32, .tuner = &tuner});
    EXPECT_EQ(tuner.taken, 3) << library;
    compare_with_reference("reference", what, 2e-5, {.tuner = &tuner});
  }
}

TEST(MarginInnerProductTest, BadLabels) {
  for (const char* backend : {"reference", "gpu"}) {
    const Error error = error_of([&] {
      KernelHarness harness(product(kLarge, "type: DOUBLE", {2, 2}, 2), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2, 3, 4}, {1, 2}}, {{1, 2, 3, 4}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.cause(), "label 2 at sample 6 is out of range 0..1") << backend;
  }
}

TEST(MarginInnerProductTest, Errors) {
  const auto of = [](const std::string& param) {
    return KernelCase{{"type: 'MarginInnerProduct' margin_inner_product_param { " + param + " }"}, {{3, 2}, {3}}};
  };
  const std::string message = "margin_inner_product_param.";
  expect_config_error(of(""), "no num_output is given", message + "num_output");
  expect_config_error(of("num_output: 0"), "num_output is 0", message + "num_output");
  expect_config_error(of("num_output: 2 axis: 2"), "axis", message + "axis");
  expect_config_error(of("num_output: 2 gamma: nan"), "gamma is nan", message + "gamma");
  expect_config_error(of("num_output: 2 base: -1"), "lambda would be negative", message + "base");
  expect_config_error(of("num_output: 2 lambda_min: -1"), "lambda would be negative", message + "lambda_min");
  expect_config_error({{"type: 'LargeMarginInnerProduct'"}, {{3, 2}, {3}}}, "no num_output is given",
                      "largemargin_inner_product_param.num_output");
  expect_config_error({{"type: 'MarginInnerProduct' margin_inner_product_param { num_output: 2 }"}, {{3, 2}, {2}}},
                      "there are 3 samples", "bottom");
}

}  // namespace
}  // namespace robusta::test::margin_inner_product_test
