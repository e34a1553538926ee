#include <gtest/gtest.h>

#include "support/regression_losses.h"
#include "support/two_ranks.h"

namespace robusta::test::l1_loss_test {
namespace {

constexpr char kLayer[] = "type: 'L1Loss'";

TEST(L1LossTest, GradientsAndKernels) {
  check_regression({regression_case(kLayer, {4, 3, 2}, 2), regression_case(kLayer, {5}, 2)});
  compare_gpu_with_reference(regression_case(kLayer, {7, 5003}, 2), 2e-6);
}

TEST(L1LossTest, DividesByTheBatch) {
  for (const char* backend : {"reference", "gpu"}) {
    const RegressionResults got =
        run_regression(backend, "type: 'L1Loss'", {{1, 2, 3, 1}, {0, 2, 3, 4}}, {2, 2}, {{4}});
    EXPECT_EQ(got.tops[0][0], 2) << backend;
    EXPECT_EQ(got.bottom_diffs, (Arrays{{2, 0, 0, -2}, {-2, 0, 0, 2}})) << backend;
  }
}

TEST(L1LossTest, RanksNeedNotAgree) {
  for (const char* backend : {"reference", "gpu"}) {
    TwoRanks ranks;
    const Array loss = run_regression(backend, kLayer, {{2, 0}, {0, 0}}, {2, 1}, {{1}}, &ranks).tops[0];
    EXPECT_EQ(loss, Array{1}) << backend;
    EXPECT_EQ(ranks.sums, 0);
  }
}

TEST(L1LossTest, Errors) { check_regression_errors(kLayer); }

}  // namespace
}  // namespace robusta::test::l1_loss_test
