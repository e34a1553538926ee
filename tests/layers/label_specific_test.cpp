// LabelSpecificAdd, LabelSpecificAffine, LabelSpecificHardMargin, LabelSpecificMargin and LabelSpecificRescale.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::label_specific_test {
namespace {

/// Scores in 0.1..0.9, so that they can be angles and cosines, too.
KernelCase change(const std::string& type, const std::string& param, const Shape& scores, int tops = 1) {
  const std::string message = type == "Add"          ? "add"
                              : type == "Affine"     ? "affine"
                              : type == "HardMargin" ? "hard_margin"
                              : type == "Margin"     ? "margin"
                                                     : "rescale";
  KernelCase what{{"type: 'LabelSpecific" + type + "' label_specific_" + message + "_param { " + param + " }"},
                  {scores, {scores[0]}}};
  what.tops = tops;
  what.bottom_values = [classes = scores.count(1)](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; i < shape.count(); ++i) {
      values.push_back(bottom == 1 ? static_cast<double>(i * i % classes)
                                   : static_cast<float>(0.1 + 0.8 * static_cast<double>(i * 37 % 101) / 101));
    }
    return values;
  };
  return what;
}

/// Of a pass with so many samples before it, in batches of 4.
Arrays run(const std::string& backend, const KernelCase& what, const Array& scores, uint64_t before = 0) {
  KernelHarness harness(what, {.backend = backend,
                               .dtype = DType::kF32,
                               .pass = {.seed = 7, .first_sample = before, .next_sample = before + 4, .batch = 0}});
  const size_t params = harness.param_decls().size();
  Arrays given;
  for (size_t i = 0; i < params; ++i) given.emplace_back(static_cast<size_t>(harness.param_decls()[i].shape.count()));
  harness.forward({scores, {1}}, given);
  Arrays top_diffs{Array(scores.size(), 2.0)};
  if (what.tops > 1) top_diffs.emplace_back(static_cast<size_t>(harness.top_shapes()[1].count()), 0.0);
  harness.backward(top_diffs);
  Arrays results = harness.tops();
  results.push_back(harness.bottom_diffs()[0]);
  EXPECT_EQ(harness.damage(), "");
  return results;
}

const char* const kBackends[] = {"reference", "gpu"};

TEST(LabelSpecificTest, Add) {
  for (const char* backend : kBackends) {
    const Arrays fixed = run(backend, change("Add", "bias: -0.25", {1, 3}), {0.5, 0.5, 0.5});
    expect_near(fixed[0], {0.5, 0.25, 0.5}, 1e-6, backend);
    expect_near(fixed[1], {2, 2, 2}, 1e-6, backend);
    expect_near(run(backend, change("Add", "bias: -0.25", {1, 3}), {0.5, 0.25, 0.5})[0], {0.5, 0.25, 0.5}, 1e-6,
                "not above the margin");
    // -0.5 + (1 + 0.5 (3 + batches))^2 - 1, in -0.5..8: 4.75 at first, then 7.5.
    const std::string falling = "bias_base: -0.5 bias_gamma: 0.5 bias_power: 2 bias_min: -0.5 bias_max: 8 iteration: 3";
    expect_near(run(backend, change("Add", falling, {1, 3}, 2), {0, 0, 0})[1], {4.75}, 1e-6, backend);
    expect_near(run(backend, change("Add", falling, {1, 3}, 2), {0, 0, 0}, 4)[1], {7.5}, 1e-6, backend);
    expect_near(run(backend, change("Add", falling, {1, 3}, 2), {0, 0, 0}, 8)[1], {8}, 1e-6, backend);
    expect_near(run(backend, change("Add", falling, {1, 3}, 2), {0, 1, 0}, 8)[0], {0, 9, 0}, 1e-6, backend);
  }
}

TEST(LabelSpecificTest, Rescale) {
  for (const char* backend : kBackends) {
    const auto of = [&](const std::string& param, const Array& scores, uint64_t before = 0) {
      return run(backend, change("Rescale", param, {1, 3}), scores, before);
    };
    const Arrays both = of("positive_weight: 0.5 negative_weight: 3", {1, 2, -1});
    expect_near(both[0], {3, 1, -3}, 1e-6, backend);
    expect_near(both[1], {6, 1, 6}, 1e-6, backend);
    expect_near(of("positive_weight: 0.5 bias_fix: true", {1, 2, -1})[0], {1, 1.5, -1}, 1e-6, backend);
    expect_near(of("positive_weight: 0.5 for_ip: true", {1, -2, -1})[0], {1, -2, -1}, 1e-6, backend);
    expect_near(of("positive_weight: 0.5 for_ip: true", {1, -2, -1})[1], {2, 2, 2}, 1e-6, backend);
    const Arrays power = of("positive_weight: 2 power_on_positive: true", {1, -3, -1});
    expect_near(power[0], {1, -9, -1}, 1e-6, backend);
    expect_near(power[1], {2, 12, 2}, 1e-6, backend);
    // 8 (1 + batches + 1)^-2, at least 0.25.
    const std::string falling = "positive_weight_base: 8 gamma: 1 power: 2 positive_weight_min: 0.25";
    expect_near(of(falling, {1, 1, 1})[0], {1, 2, 1}, 1e-6, backend);
    expect_near(of(falling, {1, 1, 1}, 8)[0], {1, 0.5, 1}, 1e-6, backend);
    expect_near(of(falling, {1, 1, 1}, 80)[0], {1, 0.25, 1}, 1e-6, backend);
  }
}

TEST(LabelSpecificTest, Affine) {
  for (const char* backend : kBackends) {
    const auto of = [&](const std::string& param, const Array& scores) {
      return run(backend, change("Affine", param, {1, 3}, 2), scores);
    };
    const Arrays linear = of("scale_base: 1.5 scale_max: 2 bias_base: 0.25 bias_max: 1", {1, 1, 1});
    expect_near(linear[0], {1, 1.75, 1}, 1e-6, backend);
    expect_near(linear[1], {1.5, 0.25, 1}, 1e-6, backend);
    expect_near(linear[2], {2, 3, 2}, 1e-6, backend);
    const Arrays root = of("power_base: 0.5", {1, 1, 1});
    expect_near(root[0], {1, std::sqrt(M_PI), 1}, 1e-6, backend);
    expect_near(root[2], {2, std::sqrt(M_PI), 2}, 1e-6, backend);
    expect_near(of("scale_base: 9 scale_max: 9", {1, 1, 1})[0], {1, M_PI - 1e-4, 1}, 1e-6, backend);
    expect_near(of("power_base: 0.1 scale_base: 3", {1, 1, 1})[1], {1, 0, 0.5}, 1e-6, "bounds");
  }
}

TEST(LabelSpecificTest, Margin) {
  for (const char* backend : kBackends) {
    const auto of = [&](const std::string& param, const Array& scores) {
      return run(backend, change("Margin", param, {1, 3}, 2), scores);
    };
    const Arrays hard = of("margin_base: 30 gamma: 0", {0.6, 0.6, 0.6});
    const double turned = std::cos(std::acos(0.6) + M_PI / 6);
    expect_near(hard[0], {0.6, turned, 0.6}, 1e-6, backend);
    expect_near(hard[1], {30}, 1e-6, backend);
    const double slope = std::cos(M_PI / 6) - 0.6 / 0.8 * 0.5;
    expect_near(hard[2], {2, 2 * slope, 2}, 1e-6, backend);
    const Arrays soft = of("margin_base: 1.5 gamma: 0 type: SOFT", {0.6, 0.6, 0.6});
    expect_near(soft[0], {0.6, std::cos(1.5 * std::acos(0.6)), 0.6}, 1e-6, backend);
    expect_near(soft[2], {2, 2 * 1.5 * std::sin(1.5 * std::acos(0.6)) / 0.8, 2}, 1e-6, backend);
    // Slopes are bounded.
    expect_near(of("margin_base: 30 gamma: 0", {0, 0.99, 0})[2], {2, 0, 2}, 1e-6, backend);
    expect_near(of("margin_base: 30 gamma: 0", {0, -0.99, 0})[2], {2, 4, 2}, 1e-6, backend);
    expect_near(of("margin_base: 0 gamma: 0", {1, 1, 1})[0], {1, 1, 1}, 1e-6, backend);
    expect_near(of("margin_base: 40 gamma: 1 iteration: 7 margin_max: 45", {0, 0, 0})[1], {45}, 1e-6, backend);
    expect_near(of("margin_base: 40 gamma: 1 iteration: 3", {0, 0, 0})[1], {43}, 1e-6, backend);
  }
}

TEST(LabelSpecificTest, HardMargin) {
  for (const char* backend : kBackends) {
    const Arrays moved = run(backend, change("HardMargin", "positive_weight: 0.75", {1, 3}, 2), {2, 4, 6});
    expect_near(moved[0], {2, 4, 6}, 1e-6, backend);
    const Arrays other = run(backend, change("HardMargin", "positive_weight: 0.75", {1, 3}, 2), {2, 8, 6});
    expect_near(other[0], {2, 7, 6}, 1e-6, backend);
    expect_near(other[1], {180 / M_PI}, 1e-6, backend);
    expect_near(other[2], {2.25, 1.5, 2.25}, 1e-6, backend);
  }
}

TEST(LabelSpecificTest, NothingIsDoneInTheTestPhase) {
  for (const char* type : {"Add", "Affine", "HardMargin", "Margin", "Rescale"}) {
    const std::string param = type == std::string("Margin")   ? "margin_base: 10"
                              : type == std::string("Affine") ? "scale_base: 2 scale_max: 2"
                              : type == std::string("Add")    ? "bias: -1"
                                                              : "positive_weight: 2";
    for (const char* backend : kBackends) {
      KernelCase what = change(type, param, {1, 3});
      what.phase = caffe::TEST;
      EXPECT_EQ(run(backend, what, {4, 5, 6})[0], (Array{4, 5, 6})) << type << backend;
    }
  }
  KernelCase tests = change("Rescale", "positive_weight: 2 rescale_test: true", {1, 3});
  tests.phase = caffe::TEST;
  for (const char* backend : kBackends) EXPECT_EQ(run(backend, tests, {4, 5, 6})[0], (Array{4, 10, 6})) << backend;
}

std::vector<KernelCase> cases() {
  return {change("Add", "bias: -0.3", {5, 4}),
          change("Add", "bias_base: -0.1 bias_gamma: 0.1 bias_max: 1", {3, 2, 2}, 2),
          change("HardMargin", "", {5, 4}),
          change("HardMargin", "positive_weight: 0.9", {3, 2, 2}),
          change("Rescale", "positive_weight: 0.7 negative_weight: 1.3 bias_fix: true", {5, 4}),
          change("Rescale", "positive_weight_base: 2 gamma: 0.5 power_on_positive: true", {5, 4}, 2),
          change("Affine", "scale_base: 1.2 scale_max: 2 power_base: 0.8 bias_base: 0.1 bias_max: 1", {5, 4}, 2)};
}

TEST(LabelSpecificTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
  // SOFT's slope is the derivative where it is not bounded.
  check_gradients(change("Margin", "margin_base: 1.2 gamma: 0 type: SOFT", {5, 4}));
}

TEST(LabelSpecificTest, KernelsAgree) {
  std::vector<KernelCase> all = cases();
  all.push_back(change("Margin", "margin_base: 20", {5, 4}, 2));
  all.push_back(change("Margin", "margin_base: 1.2 type: SOFT", {5, 4}));
  all.push_back(change("Add", "bias: -0.3", {300, 77}));
  all.push_back(change("HardMargin", "positive_weight: 0.8", {30, 77}, 2));
  for (const KernelCase& c : all) {
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(LabelSpecificTest, BadLabels) {
  for (const char* backend : kBackends) {
    const Error error = error_of([&] {
      KernelHarness harness(change("Add", "bias: -0.3", {2, 3}), {.backend = backend, .dtype = DType::kF32});
      harness.forward({Array(6, 0.5), {1, 3}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.cause(), "label 3 at sample 6 is out of range 0..2") << backend;
  }
}

TEST(LabelSpecificTest, Errors) {
  expect_config_error(change("Add", "bias: nan", {2, 3}), "bias is nan", "label_specific_add_param.bias");
  expect_config_error(change("Margin", "", {2, 3}), "no margin_base is given",
                      "label_specific_margin_param.margin_base");
  expect_config_error(change("Affine", "power_min: inf", {2, 3}), "power_min is inf",
                      "label_specific_affine_param.power_min");
  expect_config_error(change("Rescale", "gamma: -inf", {2, 3}), "gamma is -inf", "label_specific_rescale_param.gamma");
  expect_config_error(change("HardMargin", "", {2, 1}), "has one class", "bottom");
  expect_config_error(change("HardMargin", "positive_weight: inf", {2, 3}), "positive_weight is inf",
                      "label_specific_hard_margin_param.positive_weight");
  expect_config_error({{"type: 'LabelSpecificAdd'"}, {{2, 3}, {3}}}, "bottom 0 has shape 2 3", "bottom");
  const KernelHarness harness(change("Add", "", {2, 3}), {});
  EXPECT_TRUE(harness.wants_bottom(0));
  EXPECT_FALSE(harness.wants_bottom(1));
}

}  // namespace
}  // namespace robusta::test::label_specific_test
