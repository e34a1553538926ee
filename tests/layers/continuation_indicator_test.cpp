// ContinuationIndicator.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::continuation_indicator_test {
namespace {

KernelCase indicator(const std::string& param) {
  return {{"type: 'ContinuationIndicator' continuation_indicator_param { " + param + " }"}, {}};
}

TEST(ContinuationIndicatorTest, IsZeroAtTheFirstStep) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(indicator("time_step: 3 batch_size: 2"),
                          {.backend = backend, .dtype = DType::kF32, .backward = false});
    harness.forward({});
    EXPECT_EQ(harness.top_shapes()[0], (Shape{3, 2}));
    EXPECT_EQ(harness.tops()[0], (Array{0, 0, 1, 1, 1, 1})) << backend;
    EXPECT_EQ(harness.damage(), "");
  }
}

TEST(ContinuationIndicatorTest, Errors) {
  const std::string message = "continuation_indicator_param.";
  expect_config_error(indicator("batch_size: 2"), "no time_step is given", message + "time_step");
  expect_config_error(indicator("batch_size: 2 time_step: 0"), "time_step is 0", message + "time_step");
  expect_config_error(indicator("time_step: 2"), "no batch_size is given", message + "batch_size");
  expect_config_error(indicator("time_step: 2 batch_size: 0"), "batch_size is 0", message + "batch_size");
}

}  // namespace
}  // namespace robusta::test::continuation_indicator_test
