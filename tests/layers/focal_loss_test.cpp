// FocalLoss.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::focal_loss_test {
namespace {

KernelCase loss(const std::string& param, const Shape& scores, const std::string& more = "", int tops = 1) {
  KernelCase what{{"type: 'FocalLoss' focal_loss_param { " + param + " } " + more},
                  {scores, {scores[0], scores.count(2)}}};
  what.tops = tops;
  what.bottom_values = [classes = scores[1]](int bottom, const Shape& shape) {
    Array labels;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) labels.push_back(static_cast<double>(i * i % classes));
    return labels;
  };
  return what;
}

std::vector<KernelCase> cases() {
  return {loss("", {6, 4}),
          loss("gamma: 0", {6, 4}),
          loss("gamma: 0.5 alpha: 1.5", {3, 4, 2, 3}),
          loss("type: ONEADDP gamma: 3", {3, 4, 2, 3}, "", 2),
          loss("gamma: 2", {5, 3}, "loss_param { ignore_label: 1 }"),
          loss("type: LINEAR", {5, 3}, "loss_param { normalization: NONE }", 2)};
}

TEST(FocalLossTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(FocalLossTest, KernelsAgree) {
  for (const KernelCase& c : cases()) {
    compare_with_reference("reference", c);
    compare_with_reference("native", c);
    compare_gpu_with_reference(c);
  }
}

TEST(FocalLossTest, Values) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    const auto run = [&](const std::string& param) {
      KernelHarness harness(loss(param, {1, 2}), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{std::log(3.0), 0}, {0}});  // probabilities 3/4 and 1/4
      harness.backward({{1}});
      return Arrays{harness.tops()[0], harness.bottom_diffs()[0]};
    };
    const double log = std::log(0.75);
    expect_near(run("")[0], {-log / 16}, 1e-6, backend);
    const double factor = 1.0 / 16 - 2 * 0.25 * 0.75 * log;
    expect_near(run("")[1], {-factor / 4, factor / 4}, 1e-6, backend);
    expect_near(run("type: ONEADDP")[0], {-log * 49 / 16}, 1e-6, backend);
    const double other = 49.0 / 16 + 2 * 1.75 * 0.75 * log;
    expect_near(run("type: ONEADDP")[1], {-other / 4, other / 4}, 1e-6, backend);
  }
}

/// A probability of 1 has no loss, and of 0 a finite one.
TEST(FocalLossTest, CertainScores) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    for (const char* gamma : {"gamma: 0", "gamma: 0.5", "gamma: 2"}) {
      KernelHarness harness(loss(gamma, {1, 2}), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1000, 0}, {0}});
      harness.backward({{1}});
      EXPECT_EQ(harness.tops()[0][0], 0) << backend << gamma;
      EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 0})) << backend << gamma;
      harness.forward({{0, 1000}, {0}});
      harness.backward({{1}});
      EXPECT_NEAR(harness.tops()[0][0], 87.3365, 1e-3) << backend << gamma;
      expect_near(harness.bottom_diffs()[0], {-1, 1}, 1e-5, backend);
    }
  }
}

TEST(FocalLossTest, Errors) {
  expect_config_error(loss("gamma: -1", {2, 3}), "gamma is -1", "focal_loss_param.gamma");
  expect_config_error(loss("gamma: nan", {2, 3}), "gamma is nan", "focal_loss_param.gamma");
  expect_config_error(loss("alpha: 0", {2, 3}), "alpha is 0", "focal_loss_param.alpha");
  const Error error = error_of([] {
    KernelHarness harness(loss("", {2, 3}), {});
    harness.forward({Array(6, 0.0), {0, 3}});
  });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
}

}  // namespace
}  // namespace robusta::test::focal_loss_test
