#include "ops/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "robusta/error.h"

namespace robusta::test {
namespace {

template <typename T>
std::vector<T> numbers(int64_t count, uint64_t stream) {
  PhiloxStream random(23, stream);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(random.normal());
  return values;
}

/// Against the triple loop, for all four combinations of operations.
template <typename T>
void check(int64_t m, int64_t n, int64_t k, T alpha, T beta, double tolerance) {
  const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2), before = numbers<T>(m * n, 3);
  for (const Op op_a : {Op::kPlain, Op::kTransposed}) {
    for (const Op op_b : {Op::kPlain, Op::kTransposed}) {
      // What C held does not matter when beta is 0.
      std::vector<T> c = beta == 0 ? std::vector<T>(before.size(), std::numeric_limits<T>::quiet_NaN()) : before;
      gemm<T>(op_a, op_b, m, n, k, alpha, a.data(), b.data(), beta, c.data());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double want = beta == 0 ? 0 : double{beta} * before[static_cast<size_t>(i * n + j)];
          for (int64_t p = 0; p < k; ++p) {
            want += double{alpha} * a[static_cast<size_t>(op_a == Op::kPlain ? i * k + p : p * m + i)] *
                    b[static_cast<size_t>(op_b == Op::kPlain ? p * n + j : j * k + p)];
          }
          ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], want, tolerance * std::sqrt(static_cast<double>(k) + 1));
        }
      }
    }
  }
}

TEST(GemmTest, EqualsTheTripleLoop) {
  check<float>(3, 4, 5, 1, 0, 2e-6);
  check<float>(17, 33, 65, 0.5f, 1, 2e-6);
  check<float>(1, 7, 1, 1, 1, 2e-6);
  check<double>(3, 4, 5, 1, 0, 1e-14);
  check<double>(31, 2, 40, -2, 0.5, 1e-14);
  check<double>(2, 3, 0, 1, 0, 1e-14);
}

TEST(GemmTest, NothingToDo) {
  float c = 7;
  gemm<float>(Op::kPlain, Op::kPlain, 0, 3, 2, 1, nullptr, nullptr, 0, &c);
  EXPECT_EQ(c, 7);
}

TEST(GemmTest, RefusesExtentsBeyondTheInterface) {
  float c = 0;
  EXPECT_THROW(gemm<float>(Op::kPlain, Op::kPlain, 1, 1, int64_t{1} << 31, 1, &c, &c, 0, &c), Error);
}

}  // namespace
}  // namespace robusta::test
