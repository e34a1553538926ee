#include <gtest/gtest.h>

#include "base/log.h"
#include "support/errors.h"
#include "support/regression_losses.h"
#include "support/two_ranks.h"

namespace robusta::test::smooth_l1_loss_test {
namespace {

constexpr char kLayer[] = "type: 'SmoothL1Loss'";

TEST(SmoothL1LossTest, GradientsAndKernels) {
  check_regression({regression_case(kLayer, {4, 3, 2}, 2),
                    regression_case("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 3 }", {4, 3, 2}, 2),
                    regression_case(kLayer, {4, 3, 2}, 3),
                    regression_case("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 0.7 }", {4, 3, 2, 2}, 4),
                    regression_case("type: 'SmoothL1Loss' loss_param { normalization: NONE }", {4, 3, 2}, 4)});
  compare_gpu_with_reference(regression_case(kLayer, {7, 5003}, 4), 2e-6);
}

TEST(SmoothL1LossTest, IsAParabolaNearZero) {
  for (const char* backend : {"reference", "gpu"}) {
    // With sigma 2 the parabola ends at 1/4; the distances are 1/8, 1/4, -1.
    const RegressionResults got = run_regression(backend, "type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 2 }",
                                                 {{0.125, 0.25, 0}, {0, 0, 1}}, {3, 1}, {{3}});
    expect_near(got.tops[0], {(0.03125 + 0.125 + 0.875) / 3}, 1e-6, backend);
    expect_near(got.bottom_diffs[0], {0.5, 1, -1}, 1e-6, backend);
    expect_near(got.bottom_diffs[1], {-0.5, -1, 1}, 1e-6, backend);
  }
}

TEST(SmoothL1LossTest, InsideAndOutsideWeights) {
  for (const char* backend : {"reference", "gpu"}) {
    // 0.5 * 3 * (0.25 / 2) and |2 * 4| - 1/2
    const Arrays bottoms{{0.25, 4}, {0, 0}, {2, 2}, {3, 1}};
    const RegressionResults got = run_regression(backend, "type: 'SmoothL1Loss'", bottoms, {1, 2}, {{1}});
    expect_near(got.tops[0], {3 * 0.125 + 7.5}, 1e-6, backend);
    expect_near(got.bottom_diffs[0], {3 * 2 * 0.5, 2}, 1e-6, backend);
    const RegressionResults inside =
        run_regression(backend, "type: 'SmoothL1Loss'", {bottoms[0], bottoms[1], bottoms[2]}, {1, 2}, {{1}});
    expect_near(inside.tops[0], {0.125 + 7.5}, 1e-6, backend);
  }
}

TEST(SmoothL1LossTest, OtherNormalizationsChangeNothing) {
  const Arrays bottoms{{2, 2, 2, 2}, {0, 0, 0, 0}};
  const auto of = [&](const std::string& mode) {
    return run_regression("reference", "type: 'SmoothL1Loss' loss_param { " + mode + " }", bottoms, {2, 2}, {{1}})
        .tops[0][0];
  };
  EXPECT_EQ(of(""), 3);
  EXPECT_EQ(of("normalization: BATCH_SIZE"), 3);
  EXPECT_EQ(of("normalization: NONE"), 6);
  std::string warning;
  const LogScope scope([&](const LogLine& line) { warning += line.text; });
  EXPECT_EQ(of("normalization: FULL"), 3);
  EXPECT_TRUE(contains(warning, "FULL does nothing to SmoothL1Loss"));
}

TEST(SmoothL1LossTest, RanksShareASum) {
  for (const char* backend : {"reference", "gpu"}) {
    TwoRanks ranks;
    const auto loss = [&](const std::string& mode) {
      const std::string layer = "type: 'SmoothL1Loss' loss_param { normalization: " + mode + " }";
      return run_regression(backend, layer, {{2, 0}, {0, 0}}, {2, 1}, {{1}}, &ranks).tops[0][0];
    };
    // The mean over the ranks is then the sum over all samples.
    EXPECT_EQ(loss("NONE"), 3) << backend;
    EXPECT_EQ(loss("BATCH_SIZE"), 0.75) << backend;
    EXPECT_EQ(ranks.sums, 0);
  }
}

TEST(SmoothL1LossTest, WeightsHaveNoGradient) {
  const KernelHarness harness(regression_case(kLayer, {2, 2}, 4), {});
  EXPECT_TRUE(harness.layer().is_loss());
  EXPECT_TRUE(harness.wants_bottom(1));
  EXPECT_FALSE(harness.wants_bottom(2));
  EXPECT_FALSE(harness.wants_bottom(3));
}

TEST(SmoothL1LossTest, Errors) {
  check_regression_errors(kLayer);
  expect_config_error({{kLayer}, {{2, 3}, {2, 3}, {2, 3}, {2, 1}}}, "bottom 3 (2 1 (2))", "bottom");
  for (const char* sigma : {"0", "-1", "nan", "inf"}) {
    const std::string layer = std::string("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: ") + sigma + " }";
    expect_config_error({{layer}, {{2}, {2}}}, "sigma is ", "smooth_l1_loss_param.sigma");
  }
}

}  // namespace
}  // namespace robusta::test::smooth_l1_loss_test
