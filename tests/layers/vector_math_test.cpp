#include "layers/kit/vector_math.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

namespace robusta::vector_math_test {
namespace {

/// Largest relative error of `fast` against `exact` over low..high.
double worst(float (*fast)(float), double (*exact)(double), float low, float high) {
  double largest = 0;
  for (int i = 0; i <= 200000; ++i) {
    const float x = low + (high - low) * static_cast<float>(i) / 200000;
    const double want = exact(x);
    if (want != 0) largest = std::max(largest, std::abs(fast(x) - want) / std::abs(want));
  }
  return largest;
}

TEST(VectorMathTest, RelativeErrors) {
  EXPECT_LT(worst(vec::exp, std::exp, -87, 88.3f), 3e-7);
  EXPECT_LT(worst(vec::expm1, std::expm1, -30, 88.3f), 4e-7);
  EXPECT_LT(worst(vec::expm1, std::expm1, -1e-3f, 1e-3f), 2e-7);
  EXPECT_LT(worst(vec::tanh, std::tanh, -20, 20), 4e-7);
  EXPECT_LT(worst(vec::tanh, std::tanh, -1e-3f, 1e-3f), 3e-7);
  EXPECT_LT(worst(
                vec::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80),
            4e-7);
}

TEST(VectorMathTest, Logarithms) {
  for (int exponent = -149; exponent < 128; ++exponent) {
    const float low = std::ldexp(1.0f, exponent);
    EXPECT_LT(worst(vec::log, std::log, low, 2 * low * (1 - 0x1p-24f)), 2e-7) << exponent;
  }
  EXPECT_LT(worst(vec::log, std::log, 0.7f, 1.42f), 3e-7);
  EXPECT_LT(worst(vec::log1p, std::log1p, -0.999f, 20), 4e-7);
  EXPECT_LT(worst(vec::log1p, std::log1p, -1e-4f, 1e-4f), 3e-7);
  EXPECT_EQ(vec::log1p(1e-30f), 1e-30f);
}

TEST(VectorMathTest, Powers) {
  for (const float exponent :
       {-149.0f, -3.0f, -1.0f, -0.75f, -1e-3f, 1e-6f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 37.3f, 127.0f}) {
    double largest = 0;
    for (int i = -2000; i <= 2000; ++i) {
      const float base = std::exp2(static_cast<float>(i) / 16);
      const double want = std::pow(static_cast<double>(base), exponent);
      if (!(want >= FLT_MIN && want <= FLT_MAX)) continue;
      largest = std::max(largest, std::abs(vec::pow(base, exponent) - want) / want);
    }
    EXPECT_LT(largest, 3e-7) << exponent;
  }
  EXPECT_NEAR(vec::pow(2, -148.5f), 0x1p-148 / std::sqrt(2), 0x1p-149);
}

/// Equal, with the sign of zeros; or both are no numbers.
bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(VectorMathTest, PowersOfSpecialNumbers) {
  for (const float base :
       {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, INFINITY, -INFINITY, NAN, 1e-40f, FLT_MAX, -FLT_MAX}) {
    for (const float y :
         {0.0f, -0.0f, 1.0f, 2.0f, 3.0f, -1.0f, -2.0f, -3.0f, 0.5f, -0.5f, 1e30f, -1e30f, 4194305.0f, 16777215.0f}) {
      const float got = vec::pow(base, y), want = std::pow(base, y);
      const bool regular = std::isfinite(want) && want != 0;
      EXPECT_TRUE(regular ? std::abs(got - want) <= 3e-7f * std::abs(want) : same(got, want))
          << base << "^" << y << " is " << got << ", want " << want;
    }
  }
}

TEST(VectorMathTest, Ends) {
  EXPECT_EQ(vec::exp(-INFINITY), 0);
  EXPECT_EQ(vec::exp(INFINITY), INFINITY);
  EXPECT_EQ(vec::exp(0), 1);
  EXPECT_EQ(vec::expm1(-INFINITY), -1);
  EXPECT_EQ(vec::expm1(INFINITY), INFINITY);
  EXPECT_EQ(vec::tanh(INFINITY), 1);
  EXPECT_EQ(vec::tanh(-INFINITY), -1);
  EXPECT_EQ(vec::sigmoid(-INFINITY), 0);
  EXPECT_EQ(vec::sigmoid(INFINITY), 1);
  EXPECT_EQ(vec::log(0), -INFINITY);
  EXPECT_EQ(vec::log(INFINITY), INFINITY);
  EXPECT_EQ(vec::log(1), 0);
  EXPECT_TRUE(std::isnan(vec::log(-1)));
  EXPECT_EQ(vec::log1p(-1), -INFINITY);
  EXPECT_EQ(vec::log1p(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(vec::log1p(-2)));
  for (auto f : {vec::exp, vec::expm1, vec::tanh, vec::sigmoid, vec::log, vec::log1p}) EXPECT_TRUE(std::isnan(f(NAN)));
}

}  // namespace
}  // namespace robusta::vector_math_test
