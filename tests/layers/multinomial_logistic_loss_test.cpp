#include <gtest/gtest.h>

#include "support/class_losses.h"

namespace robusta::test::multinomial_logistic_loss_test {
namespace {

constexpr char kLayer[] = "type: 'MultinomialLogisticLoss'";

TEST(MultinomialLogisticLossTest, GradientsAndKernels) { check_class_loss(kLayer, true); }
TEST(MultinomialLogisticLossTest, Labels) { check_labels_of(kLayer); }

TEST(MultinomialLogisticLossTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    const ClassLoss got = run_class_loss(backend, kLayer, {0.25, 0.75, 0.5, 0.5}, {0, 1});
    EXPECT_NEAR(got.loss, 1.5 * std::log(2.0), 1e-6);
    expect_near(got.gradient, {-4, 0, 0, -2}, 1e-6, backend);
  }
}

TEST(MultinomialLogisticLossTest, ProbabilityHasAFloor) {
  for (const char* backend : {"reference", "gpu"}) {
    const ClassLoss got = run_class_loss(backend, kLayer, {0, 1}, {0});
    EXPECT_NEAR(got.loss, 20 * std::log(10.0), 1e-5);
    expect_near(got.gradient, {-2e20, 0}, 1e-6, backend);
    EXPECT_TRUE(std::isnan(run_class_loss(backend, kLayer, {NAN, 1}, {0}).loss));
  }
}

}  // namespace
}  // namespace robusta::test::multinomial_logistic_loss_test
