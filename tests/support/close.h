/// Comparison of results that differ by rounding alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace robusta::test {

/// Expects |got - want| <= tolerance * max|want| for each element; a NaN is never close.
inline void expect_close(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    scale = std::max(scale, std::fabs(static_cast<double>(want[i])));
    const double error = std::fabs(static_cast<double>(got[i]) - want[i]);
    worst = error <= worst ? worst : error;
  }
  EXPECT_LE(worst, tolerance * scale);
}

}  // namespace robusta::test
