// MVN.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::mvn_test {
namespace {

KernelCase mvn(const std::string& param, const Shape& bottom) {
  return {{"type: 'MVN' mvn_param { " + param + " }"}, {bottom}};
}

const KernelCase kCases[] = {
    mvn("", {2, 3, 4, 5}),
    mvn("across_channels: true", {2, 3, 4}),
    mvn("normalize_variance: false", {2, 3, 4, 2}),
    mvn("normalize_variance: false across_channels: true", {3, 5}),
    mvn("eps: 0.5", {2, 2, 7}),
    mvn("eps: 0", {1, 1, 300}),
};

TEST(MvnTest, NormalisesEachChannel) {
  KernelHarness harness(mvn("eps: 1", {1, 2, 2}), {});
  harness.forward({{1, 3, 5, 5}});
  EXPECT_EQ(harness.tops()[0], (Array{-0.5, 0.5, 0, 0}));
}

/// Where nothing varies there is no direction in which the deviation grows.
TEST(MvnTest, AConstantRowHasNoGradientThroughItsDeviation) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(mvn("eps: 0.5", {1, 1, 2}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{5, 5}});
    harness.backward({{1, 2}});
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{-1, 1})) << backend;
  }
}

TEST(MvnTest, ShowsWhatIsNotFinite) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(mvn("", {1, 1, 2}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, std::nan("")}});
    const Array tops = harness.tops()[0];
    for (const double y : tops) EXPECT_TRUE(std::isnan(y)) << backend;
  }
}

TEST(MvnTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(MvnTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(MvnTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(MvnTest, Errors) {
  expect_config_error(mvn("eps: -1", {2, 3, 4}), "eps -1", "mvn_param.eps");
  expect_config_error(mvn("eps: nan", {2, 3, 4}), "eps", "mvn_param.eps");
  expect_config_error(mvn("", {3}), "takes an input of batch, channels");
}

}  // namespace
}  // namespace robusta::test::mvn_test
