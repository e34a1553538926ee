// Convolution by matrix products on the GPU, emulated: whether results depend on how many images are unfolded at once.

#include "ops/gemm_convolution_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace robusta {
namespace {

using Floats = std::vector<float>;

Floats numbers(size_t count, int seed) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37 + static_cast<size_t>(seed)) % 17) - 8;
  return values;
}

struct Results {
  Floats output, image, weight_diff;
  friend bool operator==(const Results&, const Results&) = default;
};

/// All three passes over five images of 2 x 5 x 6 in two groups; small integers, so sums are exact.
Results run(int64_t most_column_bytes, size_t column_bytes) {
  ConvolutionGeometry g{5, 2, 4, 2, {{5, 3, 3, 2, 1}, {6, 7, 2, 1, 1}}};
  const GemmConvolutionGpu<float> math(g, most_column_bytes);
  EXPECT_EQ(math.column_bytes(), column_bytes);
  const Floats image = numbers(5 * 2 * 30, 1), weights = numbers(4 * 6, 2), output = numbers(5 * 4 * 21, 3);
  Floats columns(column_bytes / sizeof(float));
  Results results{Floats(output.size()), Floats(image.size()), numbers(weights.size(), 4)};
  math.convolve(nullptr, image.data(), weights.data(), results.output.data(), columns.data());
  math.deconvolve(nullptr, output.data(), weights.data(), results.image.data(), columns.data());
  math.correlate(nullptr, image.data(), output.data(), true, results.weight_diff.data(), columns.data());
  return results;
}

TEST(GemmConvolutionGpuTest, SomeImagesAtATime) {
  const size_t one = 2 * 6 * 21 * sizeof(float);
  const Results all = run(1 << 20, 5 * one);
  EXPECT_NE(*std::max_element(all.output.begin(), all.output.end()), 0);
  EXPECT_TRUE(run(static_cast<int64_t>(3 * one + 7), 3 * one) == all);
  EXPECT_TRUE(run(static_cast<int64_t>(2 * one), 2 * one) == all);
  EXPECT_TRUE(run(1, one) == all);
}

}  // namespace
}  // namespace robusta
