// Sums on the GPU, emulated: whether every term counts once, however rows and parts are cut.

#include "device/gpu/reduce.h"

#include <gtest/gtest.h>

#include <vector>

namespace robusta::reduce_test {
namespace {

struct AddIntegers {
  using Sum = int64_t;
  Sum* result;
  Sum zero() const { return 0; }
  Sum join(Sum a, Sum b) const { return a + b; }
};

struct Matrix : AddIntegers {
  Sum term(int64_t row, int64_t col) const { return 1000003 * row + col; }
  void store(int64_t i, Sum sum) const { result[i] = sum; }
};

struct Everything : AddIntegers {
  Sum term(int64_t i) const { return i + 1; }
  void store(Sum sum) const { *result = sum; }
};

TEST(ReduceTest, Rows) {
  for (int64_t cols : {0, 1, 16, 17, 1000}) {
    std::vector<int64_t> sums(5, -1);
    reduce_rows(nullptr, 5, cols, Matrix{{sums.data()}});
    for (int64_t row = 0; row < 5; ++row) EXPECT_EQ(sums[row], 1000003 * row * cols + cols * (cols - 1) / 2) << cols;
  }
}

TEST(ReduceTest, All) {
  for (int64_t count : {0, 1, 255, 4096, 4097, 100003, 1024 * 4096 + 1, 5000011}) {
    int64_t sum = -1;
    std::vector<char> scratch(reduce_all_scratch<Everything>(count));
    reduce_all(nullptr, count, scratch.data(), Everything{{&sum}});
    EXPECT_EQ(sum, count * (count + 1) / 2) << count;
  }
}

}  // namespace
}  // namespace robusta::reduce_test
