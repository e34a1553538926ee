#include <gtest/gtest.h>

#include "support/regression_losses.h"

namespace robusta::test::smooth_l1_loss_ohem_test {
namespace {

constexpr char kLayer[] = "type: 'SmoothL1LossOHEM'";

TEST(SmoothL1LossOhemTest, GradientsAndKernels) {
  const std::string by_samples = "type: 'SmoothL1LossOHEM' loss_param { normalization: BATCH_SIZE }",
                    given = "type: 'SmoothL1LossOHEM' loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 7 }";
  check_regression({regression_case(kLayer, {4, 3}, 2), regression_case(kLayer, {4, 3}, 3, 2),
                    regression_case(kLayer, {5}, 2, 2), regression_case(by_samples, {2, 3, 4, 5}, 3, 2),
                    regression_case(given, {2, 3, 4, 5}, 2)});
  // Positions enough for a thread each.
  compare_gpu_with_reference(regression_case(kLayer, {2, 3, 91, 97}, 3, 2), 2e-6);
}

TEST(SmoothL1LossOhemTest, ShowsTheLossOfEachRegion) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays bottoms{{2, 0.5, 1, 3}, {0, 0, 0, 0}};
    const RegressionResults got = run_regression(backend, "type: 'SmoothL1LossOHEM'", bottoms, {2, 2}, {{2}, {0, 1}});
    expect_near(got.tops[0], {(1.5 + 0.125 + 0.5 + 2.5) / 2}, 1e-6, backend);
    expect_near(got.tops[1], {1.625, 3}, 1e-6, backend);
    expect_near(got.bottom_diffs[0], {1, 0.5, 2, 2}, 1e-6, backend);
  }
  const auto shape_of = [](const Shape& predictions) {
    return KernelHarness(regression_case("type: 'SmoothL1LossOHEM'", predictions, 2, 2), {}).top_shapes()[1];
  };
  EXPECT_EQ(shape_of({6, 8}), (Shape{6, 1, 1, 1}));
  EXPECT_EQ(shape_of({6, 8, 2, 3}), (Shape{6, 1, 2, 3}));
}

TEST(SmoothL1LossOhemTest, DividesByRegions) {
  const Arrays bottoms{Array(12, 1.5), Array(12, 0.0)};
  for (const char* backend : {"reference", "gpu"}) {
    const auto of = [&](const std::string& mode) {
      const std::string layer = "type: 'SmoothL1LossOHEM' loss_param { ignore_label: 1 " + mode + " }";
      return run_regression(backend, layer, bottoms, {2, 2, 3}, {{1}}).tops[0][0];
    };
    EXPECT_EQ(of(""), 2) << backend;
    EXPECT_EQ(of("normalization: FULL"), 2) << backend;
    EXPECT_EQ(of("normalize: false"), 6) << backend;
    EXPECT_EQ(of("normalization: NONE"), 12) << backend;
    EXPECT_EQ(of("normalization: PRE_FIXED pre_fixed_normalizer: 4"), 3) << backend;
  }
}

TEST(SmoothL1LossOhemTest, HasNoWeightByItself) {
  const KernelHarness ohem(regression_case("type: 'SmoothL1LossOHEM'", {2, 2}, 2), {});
  EXPECT_FALSE(ohem.layer().is_loss());
  EXPECT_EQ(ohem.layer().automatic_tops(), 1);
}

TEST(SmoothL1LossOhemTest, Errors) { check_regression_errors(kLayer); }

}  // namespace
}  // namespace robusta::test::smooth_l1_loss_ohem_test
