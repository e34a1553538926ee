#include "device/gpu/divisor.h"

#include <gtest/gtest.h>

namespace robusta::divisor_test {
namespace {

constexpr int64_t kEdge = int64_t{1} << 31;

void check(int64_t n, int64_t d) {
  const Divisor divisor(d);
  int64_t rest = n;
  EXPECT_EQ(divisor.quotient(n), n / d) << n << " / " << d;
  EXPECT_EQ(divisor.remainder(n), n % d) << n << " / " << d;
  EXPECT_EQ(divisor.take_off(rest), n % d);
  EXPECT_EQ(rest, n / d);
  if (n >= kEdge) return;
  auto narrow = static_cast<int32_t>(n);
  EXPECT_EQ(divisor.quotient(narrow), n / d) << n << " / " << d << " in 32 bits";
  EXPECT_EQ(divisor.take_off(narrow), n % d) << n << " / " << d << " in 32 bits";
  EXPECT_EQ(narrow, n / d);
}

TEST(DivisorTest, DividesAsTheProcessor) {
  std::vector<int64_t> divisors{kEdge - 1, kEdge, kEdge + 1, int64_t{1} << 40};
  for (int64_t d = 1; d <= 300; ++d) divisors.push_back(d);
  for (int power = 8; power < 31; ++power) {
    for (int64_t d : {-1, 0, 1}) divisors.push_back((int64_t{1} << power) + d);
  }
  for (int64_t d : divisors) {
    for (int64_t n : {int64_t{0}, int64_t{1}, kEdge - 2, kEdge - 1, kEdge, kEdge + 1, int64_t{1} << 45}) check(n, d);
    for (int64_t multiple : {d, 2 * d, 7 * d, (kEdge - 1) / d * d}) {
      for (int64_t off : {-1, 0, 1}) check(multiple + off > 0 ? multiple + off : 0, d);
    }
  }
}

}  // namespace
}  // namespace robusta::divisor_test
