#include <gtest/gtest.h>

#include "support/regression_losses.h"

namespace robusta::test::euclidean_loss_test {
namespace {

constexpr char kLayer[] = "type: 'EuclideanLoss'";

TEST(EuclideanLossTest, GradientsAndKernels) {
  check_regression({regression_case(kLayer, {4, 3}, 2),
                    regression_case(kLayer, {5}, 2),
                    {{kLayer}, {{4, 3}, {4, 3, 1, 1}}},
                    regression_case(kLayer, {4, 3}, 3)});
  compare_gpu_with_reference(regression_case(kLayer, {7, 5003}, 2), 2e-6);
}

TEST(EuclideanLossTest, DividesByTwiceTheBatch) {
  for (const char* backend : {"reference", "gpu"}) {
    const RegressionResults got =
        run_regression(backend, "type: 'EuclideanLoss'", {{1, 2, 3, 4}, {0, 2, 3, 1}}, {2, 2}, {{4}});
    EXPECT_EQ(got.tops[0][0], 2.5) << backend;
    EXPECT_EQ(got.bottom_diffs, (Arrays{{2, 0, 0, 6}, {-2, 0, 0, -6}})) << backend;
  }
}

TEST(EuclideanLossTest, WeighsDifferences) {
  for (const char* backend : {"reference", "gpu"}) {
    const RegressionResults got =
        run_regression(backend, "type: 'EuclideanLoss'", {{1, 2, 3, 4}, {0, 2, 3, 1}, {1, 1, 1, 0}}, {2, 2}, {{4}});
    EXPECT_EQ(got.tops[0][0], 0.25) << backend;
    EXPECT_EQ(got.bottom_diffs[0], (Array{2, 0, 0, 0})) << backend;
  }
}

TEST(EuclideanLossTest, Errors) { check_regression_errors(kLayer); }

}  // namespace
}  // namespace robusta::test::euclidean_loss_test
