// Products with a packed right factor against gemm(), for both widths of registers, whatever is left over at the edges.

#include "ops/packed_product.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"

namespace robusta::test::packed_product_test {
namespace {

std::vector<float> numbers(int64_t count, uint64_t stream) {
  PhiloxStream random(29, stream);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// C, or C += A B, by way of packed memory of which every float was wrong before.
std::vector<float> product(const PackedShape& shape, int64_t m, Op op, bool add, std::vector<float> c) {
  const std::vector<float> a = numbers(m * shape.k, 1), b = numbers(shape.k * shape.n, 2);
  std::vector<float> packed(static_cast<size_t>(shape.elements()), std::numeric_limits<float>::quiet_NaN());
  pack_right(shape, op, b.data(), packed.data());
  multiply_packed(shape, m, a.data(), packed.data(), add, c.data());
  return c;
}

/// Within the rounding of two orders of summation: sums of normal numbers grow as the square root of k.
void expect_as_gemm(const PackedShape& shape, int64_t m) {
  const std::vector<float> a = numbers(m * shape.k, 1), b = numbers(shape.k * shape.n, 2);
  const std::vector<float> before = numbers(m * shape.n, 3);
  for (const Op op : {Op::kPlain, Op::kTransposed}) {
    for (const bool add : {false, true}) {
      const std::vector<float> unset(before.size(), std::numeric_limits<float>::quiet_NaN());
      const std::vector<float> got = product(shape, m, op, add, add ? before : unset);
      std::vector<float> want = before;
      gemm<float>(Op::kPlain, op, m, shape.n, shape.k, 1, a.data(), b.data(), add ? 1 : 0, want.data());
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-5 * std::sqrt(static_cast<double>(shape.k) + 1))
            << m << " x " << shape.n << " x " << shape.k << ", lanes " << shape.lanes << ", element " << i;
      }
    }
  }
}

TEST(PackedProductTest, EqualsGemm) {
  for (const int lanes : {8, 16}) {
    for (const int64_t m : {1, 5, 6, 7, 13, 64}) {
      for (const int64_t n : {1, 15, 16, 17, 32, 70}) {
        for (const int64_t k : {1, 3, 256, 300}) expect_as_gemm({k, n, lanes}, m);
      }
    }
    expect_as_gemm({512, 2048, lanes}, 16);
  }
}

TEST(PackedProductTest, NothingToSum) {
  for (const bool add : {false, true}) {
    EXPECT_EQ(product({0, 3}, 2, Op::kPlain, add, std::vector<float>(6, 7.0f)),
              std::vector<float>(6, add ? 7.0f : 0.0f));
  }
  EXPECT_TRUE(product({4, 0}, 2, Op::kPlain, false, {}).empty());
  EXPECT_TRUE(product({4, 3}, 0, Op::kPlain, false, {}).empty());
}

/// By one thread or several, and by itself or among other rows, a row of C has the same bits.
TEST(PackedProductTest, BitsRepeat) {
  const PackedShape shape{600, 1100};
  const int most = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> alone = product(shape, 16, Op::kPlain, false, std::vector<float>(16 * 1100));
  omp_set_num_threads(3);
  EXPECT_EQ(product(shape, 16, Op::kPlain, false, std::vector<float>(16 * 1100)), alone);
  omp_set_num_threads(most);
  for (int64_t m = 1; m < 16; ++m) {
    const std::vector<float> some =
        product(shape, m, Op::kPlain, false, std::vector<float>(static_cast<size_t>(m) * 1100));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), alone.begin())) << m;
  }
}

}  // namespace
}  // namespace robusta::test::packed_product_test
