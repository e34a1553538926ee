#include "layers/kit/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace robusta {
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
  for (auto f : {vec::exp, vec::expm1, vec::tanh, vec::sigmoid}) EXPECT_TRUE(std::isnan(f(NAN)));
}

}  // namespace
}  // namespace robusta
