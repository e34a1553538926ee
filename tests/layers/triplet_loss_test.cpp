// TripletLoss.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::triplet_loss_test {
namespace {

KernelCase loss(const Shape& items, const std::string& param = "") {
  return {{"type: 'TripletLoss' triplet_loss_param { " + param + " }"}, {items, items, items}};
}

std::vector<KernelCase> cases() {
  return {loss({6, 3}), loss({5, 4, 1, 1}, "margin: 3"), loss({7, 2, 3}, "margin: -1"), loss({4, 1}, "margin: 0")};
}

TEST(TripletLossTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(TripletLossTest, KernelsAgree) {
  for (const KernelCase& c : cases()) {
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
  compare_gpu_with_reference(loss({5003, 7}, "margin: 4"));
  compare_gpu_with_reference(loss({7, 503}, "margin: 40"));
}

TEST(TripletLossTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(loss({2, 2}, "margin: 2"), {.backend = backend, .dtype = DType::kF32});
    // Squared distances 1 and 2; 1 and 4: far enough.
    harness.forward({{0, 0, 1, 1}, {1, 0, 1, 2}, {1, 1, 3, 1}});
    harness.backward({{4}});
    expect_near(harness.tops()[0], {0.25}, 1e-6, backend);
    expect_near(harness.bottom_diffs()[0], {0, 2, 0, 0}, 1e-6, backend);
    expect_near(harness.bottom_diffs()[1], {2, 0, 0, 0}, 1e-6, backend);
    expect_near(harness.bottom_diffs()[2], {-2, -2, 0, 0}, 1e-6, backend);
    harness.forward({{NAN, 0, 1, 1}, {1, 0, 1, 2}, {1, 1, 3, 1}});
    EXPECT_TRUE(std::isnan(harness.tops()[0][0])) << backend;
  }
}

TEST(TripletLossTest, Errors) {
  expect_config_error({{"type: 'TripletLoss'"}, {{2, 3}, {2, 3}, {3, 2}}}, "bottom 2 (3 2 (6)) must have as many",
                      "bottom");
  expect_config_error(loss({2, 3}, "margin: inf"), "margin is inf", "triplet_loss_param.margin");
}

}  // namespace
}  // namespace robusta::test::triplet_loss_test
