#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::lrn_test {
namespace {

KernelCase lrn(const std::string& fields, const Shape& bottom = {2, 6, 4, 5}) {
  return {{"type: 'LRN' lrn_param { " + fields + " }"}, {bottom}};
}

const std::vector<KernelCase> kCases = {
    lrn(""),
    lrn("local_size: 5 alpha: 0.0001 beta: 0.75"),
    lrn("local_size: 3 alpha: 2 beta: 0.5 k: 2"),
    lrn("local_size: 1 alpha: 0.3 beta: 1.5"),
    lrn("local_size: 9 alpha: 0.7"),
    lrn("local_size: 3 alpha: 0.7 norm_region: WITHIN_CHANNEL"),
    lrn("local_size: 5 alpha: 0.7 k: 4 norm_region: WITHIN_CHANNEL"),
    lrn("local_size: 11 norm_region: WITHIN_CHANNEL"),
};

TEST(LrnTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(LrnTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(LrnTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

/// Channels last, they are taken one by one, or in one or more packs: 4 or (of 16 bits) 8.
TEST(LrnTest, GpuTakesPacksOfChannels) {
  for (const std::string fields : {"local_size: 5 alpha: 0.7", "local_size: 3 alpha: 2 k: 2",
                                   "local_size: 1 alpha: 0.3", "local_size: 9 alpha: 0.7", "local_size: 11 alpha: 0.7",
                                   "alpha: 2 beta: 0.5", "local_size: 5 alpha: 0.7 norm_region: WITHIN_CHANNEL"}) {
    for (const int64_t channels : {3, 7, 8, 12, 16, 40}) compare_gpu_with_reference(lrn(fields, {2, channels, 3, 2}));
  }
}

TEST(LrnTest, RefusesBadInput) {
  expect_config_error(lrn("local_size: 4"), "local_size 4 is even", "lrn_param.local_size");
  expect_config_error(lrn("local_size: 0"), "local_size 0 is even", "lrn_param.local_size");
  expect_config_error(lrn("", {2, 3}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::lrn_test
