// Products of a few rows with large weights, forward and for both gradients, against sums in double.

#include "layers/types/inner_product/few_rows.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/philox.h"
#include "base/simd.h"
#include "layers/types/inner_product/few_rows_gradients.h"
#include "layers/types/inner_product/rows_as_columns.h"

namespace robusta::test::few_rows_test {
namespace {

std::vector<float> normal(int64_t count, const char* purpose) {
  PhiloxStream random(random_key(1, "few_rows", purpose));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// y = x W^T against sums in double. Numbers are normal, so that errors grow with the square root of how many there
/// are.
void expect_product(const ProductWay& way, const ProductShape& shape, double of_root = 2e-6) {
  const std::vector<float> x = normal(shape.m * shape.k, "x"), w = normal(shape.n * shape.k, "w");
  std::vector<float> y(static_cast<size_t>(shape.m * shape.n), NAN);
  // With what would be seen if it were read before it is written, and places behind it that have to stay.
  std::vector<float> scratch(way.scratch_bytes(shape) / sizeof(float) + 1, NAN);
  scratch.back() = 7;
  way.run(shape, x.data(), w.data(), false, y.data(), scratch.data());
  EXPECT_EQ(scratch.back(), 7);
  for (int64_t r = 0; r < shape.m; ++r) {
    for (int64_t o = 0; o < shape.n; ++o) {
      double want = 0;
      for (int64_t i = 0; i < shape.k; ++i) {
        want += double{x[static_cast<size_t>(r * shape.k + i)]} * w[static_cast<size_t>(o * shape.k + i)];
      }
      const double bound = of_root * std::sqrt(static_cast<double>(shape.k));
      ASSERT_NEAR(y[static_cast<size_t>(r * shape.n + o)], want, bound)
          << shape.m << " " << shape.n << " " << shape.k << " at " << r << " " << o;
    }
  }
}

ProductShape of_rows(int64_t rows, int64_t outputs, int64_t inputs) {
  return {Op::kPlain, Op::kTransposed, rows, outputs, inputs};
}

TEST(FewRows, MatchesSumsInDouble) {
  // Rows and outputs beside the tiles of four, inputs beside vectors of 16 and pieces of 1024.
  for (const ProductShape& shape :
       {of_rows(1, 1, 1), of_rows(4, 4, 16), of_rows(5, 7, 1030), of_rows(64, 9, 2049), of_rows(33, 4, 3071)}) {
    expect_product(FewRows(), shape);
  }
}

double at(const std::vector<float>& from, int64_t index) { return double{from[static_cast<size_t>(index)]}; }

/// dx = dy W against sums in double.
void expect_data_gradient(int64_t rows, int64_t outputs, int64_t inputs) {
  const std::vector<float> dy = normal(rows * outputs, "dy"), w = normal(outputs * inputs, "w");
  std::vector<float> dx(static_cast<size_t>(rows * inputs + 1), NAN);
  dx.back() = 7;
  FewRowsData().run({Op::kPlain, Op::kPlain, rows, inputs, outputs}, dy.data(), w.data(), false, dx.data(), nullptr);
  EXPECT_EQ(dx.back(), 7);
  const double bound = 2e-6 * std::sqrt(static_cast<double>(outputs));
  for (int64_t i = 0; i < rows * inputs; ++i) {
    double want = 0;
    for (int64_t o = 0; o < outputs; ++o) want += at(dy, i / inputs * outputs + o) * at(w, o * inputs + i % inputs);
    ASSERT_NEAR(at(dx, i), want, bound) << rows << " " << outputs << " " << inputs << " at " << i;
  }
}

/// dW = dy^T x, onto what is there if `add`.
void expect_weight_gradient(int64_t rows, int64_t outputs, int64_t inputs, bool add) {
  const std::vector<float> dy = normal(rows * outputs, "dy"), x = normal(rows * inputs, "x");
  const std::vector<float> before = normal(outputs * inputs, "dw");
  std::vector<float> all(static_cast<size_t>(outputs * inputs + 17));
  // On a line of the cache, as memory of parameters is.
  float* dw = all.data() + (64 - reinterpret_cast<uintptr_t>(all.data()) % 64) % 64 / sizeof(float);
  std::copy(before.begin(), before.end(), dw);
  dw[outputs * inputs] = 7;
  FewRowsWeights().run({Op::kTransposed, Op::kPlain, outputs, inputs, rows}, dy.data(), x.data(), add, dw, nullptr);
  EXPECT_EQ(dw[outputs * inputs], 7);
  for (int64_t i = 0; i < outputs * inputs; ++i) {
    double want = add ? at(before, i) : 0;
    for (int64_t row = 0; row < rows; ++row) {
      want += at(dy, row * outputs + i / inputs) * at(x, row * inputs + i % inputs);
    }
    ASSERT_NEAR(double{dw[i]}, want, 1e-5) << rows << " " << outputs << " " << inputs << " at " << i;
  }
}

class FewRowsGradients : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_lanes() == 0) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where they are not offered";
  }
};

/// Outputs beside those that are multiplied together, inputs beside vectors and pieces.
TEST_F(FewRowsGradients, MatchSumsInDouble) {
  for (const auto& [rows, outputs, inputs] : {std::array<int64_t, 3>{1, 1, 1},
                                              {4, 8, 32},
                                              {5, 7, 1030},
                                              {8, 19, 4133},
                                              {32, 16, 2048},
                                              {3, 41, 257},
                                              {2, 4, 31}}) {
    expect_data_gradient(rows, outputs, inputs);
    expect_weight_gradient(rows, outputs, inputs, false);
    expect_weight_gradient(rows, outputs, inputs, true);
  }
}

/// So large that they are written past the caches.
TEST_F(FewRowsGradients, OfManyWeights) { expect_weight_gradient(2, 1030, 8192, false); }

TEST_F(FewRowsGradients, ThreadsChangeNoBit) {
  constexpr int64_t kRows = 6, kOutputs = 37, kInputs = 3001;
  const std::vector<float> dy = normal(kRows * kOutputs, "dy"), w = normal(kOutputs * kInputs, "w");
  const std::vector<float> x = normal(kRows * kInputs, "x");
  const auto gradients = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    std::vector<float> dx(kRows * kInputs), dw(kOutputs * kInputs);
    FewRowsData().run({Op::kPlain, Op::kPlain, kRows, kInputs, kOutputs}, dy.data(), w.data(), false, dx.data(),
                      nullptr);
    FewRowsWeights().run({Op::kTransposed, Op::kPlain, kOutputs, kInputs, kRows}, dy.data(), x.data(), false, dw.data(),
                         nullptr);
    omp_set_num_threads(before);
    dx.insert(dx.end(), dw.begin(), dw.end());
    return dx;
  };
  const std::vector<float> one = gradients(1);
  EXPECT_EQ(gradients(2), one);
  EXPECT_EQ(gradients(3), one);
}

TEST(RowsAsColumns, MatchesSumsInDouble) {
  // Rows beside the widths of 8, 16 and 32, outputs beside tiles of 6 and 12, inputs beside lines and pieces.
  for (const ProductShape& shape :
       {of_rows(1, 1, 1), of_rows(7, 13, 15), of_rows(8, 12, 1040), of_rows(9, 25, 33), of_rows(16, 24, 16),
        of_rows(17, 37, 1025), of_rows(32, 6, 2048), of_rows(33, 40, 3071), of_rows(128, 11, 100)}) {
    expect_product(RowsAsColumns(), shape, 4e-6);  // one sum at a time, not one for each of 16 lanes
  }
}

TEST(RowsAsColumns, SumsInOneOrderWhateverTheThreads) {
  const ProductShape shape = of_rows(20, 1000, 1500);
  const std::vector<float> x = normal(shape.m * shape.k, "x"), w = normal(shape.n * shape.k, "w");
  const RowsAsColumns way;
  std::vector<float> scratch(way.scratch_bytes(shape) / sizeof(float));
  const auto multiplied = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
    way.run(shape, x.data(), w.data(), false, y.data(), scratch.data());
    omp_set_num_threads(before);
    return y;
  };
  EXPECT_EQ(multiplied(1), multiplied(3));
}

}  // namespace
}  // namespace robusta::test::few_rows_test
