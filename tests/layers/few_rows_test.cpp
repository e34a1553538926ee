// The product of a few rows with large weights against sums in double.

#include "layers/types/inner_product/few_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"

namespace robusta::test::few_rows_test {
namespace {

std::vector<float> normal(int64_t count, const char* purpose) {
  PhiloxStream random(random_key(1, "few_rows", purpose));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

TEST(FewRows, MatchesSumsInDouble) {
  struct Size {
    int64_t rows, outputs, inputs;
  };
  // Rows and outputs beside the tiles of four, inputs beside vectors of 16 and pieces of 1024.
  for (const Size& size : {Size{1, 1, 1}, Size{4, 4, 16}, Size{5, 7, 1030}, Size{64, 9, 2049}, Size{33, 4, 3071}}) {
    const std::vector<float> x = normal(size.rows * size.inputs, "x"), w = normal(size.outputs * size.inputs, "w");
    std::vector<float> y(static_cast<size_t>(size.rows * size.outputs), NAN);
    multiply_few_rows(x.data(), w.data(), size.rows, size.outputs, size.inputs, y.data());
    for (int64_t r = 0; r < size.rows; ++r) {
      for (int64_t o = 0; o < size.outputs; ++o) {
        double want = 0;
        for (int64_t i = 0; i < size.inputs; ++i) {
          want += double{x[static_cast<size_t>(r * size.inputs + i)]} * w[static_cast<size_t>(o * size.inputs + i)];
        }
        const double bound = 2e-6 * std::sqrt(static_cast<double>(size.inputs));
        ASSERT_NEAR(y[static_cast<size_t>(r * size.outputs + o)], want, bound)
            << size.rows << " " << size.outputs << " " << size.inputs << " at " << r << " " << o;
      }
    }
  }
}

}  // namespace
}  // namespace robusta::test::few_rows_test
