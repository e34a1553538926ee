// What a range test of learning rates suggests, on curves whose answer is known.
#include "inspect/rate_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace robusta::test::rate_range_test {
namespace {

/// `loss` at 100 rates from 1e-6 to 10.
template <typename Loss>
std::vector<RateLoss> run(Loss loss) {
  std::vector<RateLoss> test;
  for (int i = 0; i < 100; ++i) {
    const double rate = std::pow(10.0, -6 + 7 * i / 99.0);
    if (!add_rate(test, rate, loss(rate))) break;
  }
  return test;
}

/// Falls around 1e-3, and rises beyond 0.1.
double usual(double rate) {
  return 2 - 1.5 / (1 + std::exp(-3 * std::log(rate / 1e-3))) + std::max(0.0, 10 * (rate - 0.1));
}

TEST(RateRange, FindsWhereTheLossFallsFastest) {
  const std::vector<RateLoss> test = run(usual);
  const auto advice = advice_of(test);
  ASSERT_TRUE(advice);
  // The mean over some ten iterations, two thirds of a power of ten, lags behind.
  EXPECT_GT(advice->steepest, 1e-3);
  EXPECT_LT(advice->steepest, 5e-3);
  EXPECT_GT(advice->least, 1e-2);
  EXPECT_LT(advice->least, 0.3);
  ASSERT_TRUE(advice->up);
  EXPECT_GT(*advice->up, advice->least);
}

TEST(RateRange, EndsWhereTheLossLeaves) {
  const std::vector<RateLoss> test = run(usual);
  EXPECT_LT(test.size(), 100u);
  EXPECT_GT(test.back().rate, 0.1);
  const std::vector<RateLoss> broken = run([](double rate) { return rate > 1e-2 ? NAN : usual(rate); });
  EXPECT_LT(broken.back().rate, 1e-2);
  EXPECT_TRUE(advice_of(broken));
}

TEST(RateRange, SuggestsNothingWhereNothingWasLearned) {
  EXPECT_FALSE(advice_of(run([](double) { return 1.0; })));
  EXPECT_FALSE(advice_of(run([](double rate) { return 1 + rate; })));
  EXPECT_FALSE(advice_of({}));
  EXPECT_FALSE(advice_of({{0.1, 2, 2}, {0.2, 1, 1}}));
}

TEST(RateRange, TablesHoldEachIteration) {
  std::vector<RateLoss> test;
  add_rate(test, 0.25, 2);
  add_rate(test, 0.5, 1);
  EXPECT_EQ(rates_as_csv(test), "rate,loss,smoothed_loss\n0.25,2,2\n0.5,1,1.47368421\n");
  EXPECT_EQ(rates_as_json(test, std::nullopt),
            "{\"suggestion\": null, \"iterations\": [{\"rate\": 0.25, \"loss\": 2, \"smoothed_loss\": 2}, "
            "{\"rate\": 0.5, \"loss\": 1, \"smoothed_loss\": 1.47368421}]}\n");
}

}  // namespace
}  // namespace robusta::test::rate_range_test
