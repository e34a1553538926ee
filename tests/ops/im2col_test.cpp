#include "ops/im2col.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <numeric>
#include <vector>

#include "base/philox.h"

namespace robusta::test {
namespace {

using Axes = std::vector<WindowAxis>;

WindowAxis axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  WindowAxis a{in, 0, kernel, stride, pad, dilation};
  a.out = (in + 2 * pad - a.extent()) / stride + 1;
  return a;
}

const std::vector<Axes> kGeometries = {
    {},
    {axis(7, 3, 1, 0, 1)},
    {axis(9, 3, 2, 4, 2)},
    {axis(5, 1, 3, 0, 1)},
    {axis(2, 2, 1, 6, 1)},
    {axis(6, 3, 1, 1, 1), axis(5, 2, 2, 0, 1)},
    {axis(4, 2, 3, 3, 2), axis(7, 4, 1, 5, 1)},
    {axis(3, 2, 1, 1, 1), axis(4, 3, 2, 1, 1), axis(5, 2, 1, 0, 3)},
    {axis(2, 2, 1, 1, 1), axis(3, 1, 1, 0, 1), axis(2, 2, 2, 1, 1), axis(3, 3, 1, 2, 1)},
};

std::vector<double> numbers(int64_t count, uint64_t stream) {
  PhiloxStream random(17, stream);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = random.normal();
  return values;
}

/// Coordinates of element `index` in an array of these extents.
std::vector<int64_t> coordinates(int64_t index, const std::vector<int64_t>& extents) {
  std::vector<int64_t> at(extents.size());
  for (size_t a = extents.size(); a-- > 0; index /= extents[a]) at[a] = index % extents[a];
  return at;
}

/// Index of what tap `t` of output `o` sees within its channel, -1 outside of the image.
int64_t seen(const Axes& axes, int64_t t, int64_t o) {
  std::vector<int64_t> kernels, outs;
  for (const WindowAxis& a : axes) kernels.push_back(a.kernel), outs.push_back(a.out);
  const auto tap = coordinates(t, kernels), place = coordinates(o, outs);
  int64_t index = 0;
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t i = place[a] * axes[a].stride - axes[a].pad + tap[a] * axes[a].dilation;
    if (i < 0 || i >= axes[a].in) return -1;
    index = index * axes[a].in + i;
  }
  return index;
}

TEST(Im2colTest, CopiesWhatEachTapSees) {
  const int64_t channels = 3;
  for (const Axes& axes : kGeometries) {
    const int64_t in = elements_in(axes), out = elements_out(axes), window = taps(axes);
    const auto image = numbers(channels * in, 1);
    std::vector<double> columns(static_cast<size_t>(channels * window * out), 99);
    im2col<double>(image.data(), channels, axes, columns.data());
    for (int64_t r = 0; r < channels * window; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        const int64_t i = seen(axes, r % window, o);
        const double want = i < 0 ? 0 : image[static_cast<size_t>(r / window * in + i)];
        ASSERT_EQ(columns[static_cast<size_t>(r * out + o)], want) << axes.size() << " axes, row " << r << ", " << o;
      }
    }
  }
}

/// <im2col(x), y> = <x, col2im(y)> for any x and y.
TEST(Im2colTest, Col2imIsTheTranspose) {
  const int64_t channels = 2;
  for (const Axes& axes : kGeometries) {
    const auto x = numbers(channels * elements_in(axes), 1);
    const auto y = numbers(channels * taps(axes) * elements_out(axes), 2);
    std::vector<double> columns(y.size()), image(x.size(), 99);
    im2col<double>(x.data(), channels, axes, columns.data());
    col2im<double>(y.data(), channels, axes, image.data());
    EXPECT_NEAR(std::inner_product(columns.begin(), columns.end(), y.begin(), 0.0),
                std::inner_product(x.begin(), x.end(), image.begin(), 0.0), 1e-11 * static_cast<double>(y.size()));
  }
}

TEST(Im2colTest, SameForAnyNumberOfThreads) {
  const Axes axes = {axis(60, 3, 1, 1, 1), axis(70, 3, 1, 1, 1)};
  const auto y = numbers(8 * taps(axes) * elements_out(axes), 3);
  std::vector<double> one(static_cast<size_t>(8 * elements_in(axes))), three = one;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  col2im<double>(y.data(), 8, axes, one.data());
  omp_set_num_threads(3);
  col2im<double>(y.data(), 8, axes, three.data());
  omp_set_num_threads(threads);
  EXPECT_EQ(one, three);
}

}  // namespace
}  // namespace robusta::test
