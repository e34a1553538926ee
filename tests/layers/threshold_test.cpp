#include <gtest/gtest.h>

#include "support/maps.h"

namespace robusta::test::threshold_test {
namespace {

TEST(ThresholdTest, IsStrict) {
  expect_map("type: 'Threshold'", {-1, 0, 1e-30, 2}, {0, 0, 1, 1}, {});
  expect_map("type: 'Threshold' threshold_param { threshold: -1.5 }", {-2, -1.5, 0}, {0, 0, 1}, {});
}

TEST(ThresholdTest, HasNoBackward) {
  const KernelCase what{{"type: 'Threshold' threshold_param { threshold: 0.2 }"}, {{2, 20, 3, 5}}};
  const KernelHarness harness(what, {});
  EXPECT_FALSE(harness.layer().has_backward());
  EXPECT_FALSE(harness.wants_bottom(0));
  compare_with_reference("reference", what);
  compare_with_reference("native", what);
  compare_gpu_with_reference(what);
  expect_config_error({{"type: 'Threshold' threshold_param { threshold: nan }"}, {{2}}}, "threshold is nan",
                      "threshold_param.threshold");
}

}  // namespace
}  // namespace robusta::test::threshold_test
