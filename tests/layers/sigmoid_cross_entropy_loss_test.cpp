// SigmoidCrossEntropyLoss.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::sigmoid_cross_entropy_loss_test {
namespace {

/// Targets between 0 and 1, every fourth one -1.
KernelCase cross_entropy(const Shape& shape, const std::string& param, bool ignored = true) {
  KernelCase what{{"type: 'SigmoidCrossEntropyLoss' loss_param { " + param + " }"}, {shape, shape}};
  what.bottom_values = [ignored](int bottom, const Shape& targets) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < targets.count(); ++i) {
      values.push_back(ignored && i % 4 == 3 ? -1 : static_cast<double>(i % 3) / 2);
    }
    return values;
  };
  return what;
}

double loss_of(const std::string& param, const Array& scores, const Array& targets, const KernelOptions& how = {}) {
  const auto n = static_cast<int64_t>(scores.size());
  KernelHarness harness({{"type: 'SigmoidCrossEntropyLoss' loss_param { " + param + " }"}, {{1, n}, {1, n}}}, how);
  harness.forward({scores, targets});
  return harness.tops()[0][0];
}

TEST(SigmoidCrossEntropyLossTest, GradientsAndSinglePrecision) {
  std::vector<KernelCase> cases{cross_entropy({3, 4, 2}, "", false)};
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE", "PRE_FIXED pre_fixed_normalizer: 2"}) {
    cases.push_back(cross_entropy({3, 4, 2}, std::string("ignore_label: -1 normalization: ") + mode));
  }
  for (const KernelCase& c : cases) {
    check_gradients(c);
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c, 2e-6);
  }
  compare_gpu_with_reference(cross_entropy({7, 5003}, "ignore_label: -1 normalization: VALID"), 2e-6);
}

TEST(SigmoidCrossEntropyLossTest, DefaultsToTheBatchSize) {
  const double bit = std::log(2.0);
  EXPECT_NEAR(loss_of("", {0, 0, 0}, {0, 1, 1}), 3 * bit, 1e-12);
  EXPECT_NEAR(loss_of("normalize: false", {0, 0, 0}, {0, 1, 1}), 3 * bit, 1e-12);
  EXPECT_NEAR(loss_of("normalize: true", {0, 0, 0}, {0, 1, 1}), bit, 1e-12);
}

TEST(SigmoidCrossEntropyLossTest, TargetsAreCutBeforeTheyAreIgnored) {
  EXPECT_NEAR(loss_of("ignore_label: 0", {0, 0, 0}, {0, 0.9, 1}), std::log(2.0), 1e-12);
}

TEST(SigmoidCrossEntropyLossTest, LargeScoresAndNaN) {
  for (const char* backend : {"reference", "gpu"}) {
    const KernelOptions how{.backend = backend, .dtype = DType::kF32};
    EXPECT_NEAR(loss_of("", {1000, -1000}, {0, 0}, how), 1000, 1e-9) << backend;
    EXPECT_NEAR(loss_of("", {1000, -1000}, {1, 0}, how), 0, 1e-9) << backend;
    EXPECT_TRUE(std::isnan(loss_of("", {NAN, 1}, {1, 0}, how))) << backend;
  }
}

TEST(SigmoidCrossEntropyLossTest, Errors) {
  expect_config_error({{"type: 'SigmoidCrossEntropyLoss'"}, {{2, 3}, {2, 2}}}, "equally many", "bottom");
}

}  // namespace
}  // namespace robusta::test::sigmoid_cross_entropy_loss_test
