// Space to depth: the folded convolution gives what the plain one does, and so does the gradient of its filters.

#include "layers/types/convolution/space_to_depth_gpu.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/half.h"

namespace robusta::test::space_to_depth_test {
namespace {

ConvolutionGeometry geometry(int64_t channels, int64_t in, int64_t kernel, int64_t stride, int64_t pad) {
  const WindowAxis axis{
      .in = in, .out = (in + 2 * pad - kernel) / stride + 1, .kernel = kernel, .stride = stride, .pad = pad};
  WindowAxis wider = axis;
  wider.in += stride;
  wider.out += 1;
  return {.batch = 2, .channels = channels, .num_output = 3, .axes = {axis, wider}};
}

/// Small integers, which 16 bits hold exactly.
std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 31 + seed) % 7 - 3));
  return values;
}

/// Calls each(result, image, filter) with the places that a product joins; plain arrays, or channels last.
template <typename Each>
void for_products(const ConvolutionGeometry& g, bool last, const Each& each) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  const auto place = [&](int64_t n, int64_t c, int64_t row, int64_t col, int64_t channels, int64_t rows, int64_t cols) {
    return last ? ((n * rows + row) * cols + col) * channels + c : ((n * channels + c) * rows + row) * cols + col;
  };
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t o = 0; o < g.num_output; ++o)
      for (int64_t row = 0; row < y.out; ++row)
        for (int64_t col = 0; col < x.out; ++col)
          for (int64_t c = 0; c < g.channels; ++c)
            for (int64_t i = 0; i < y.kernel; ++i)
              for (int64_t j = 0; j < x.kernel; ++j) {
                const int64_t from_y = row * y.stride + i - y.pad, from_x = col * x.stride + j - x.pad;
                if (from_y < 0 || from_y >= y.in || from_x < 0 || from_x >= x.in) continue;
                each(place(n, o, row, col, g.num_output, y.out, x.out),
                     place(n, c, from_y, from_x, g.channels, y.in, x.in),
                     place(o, c, i, j, g.channels, y.kernel, x.kernel));
              }
}

int64_t image_count(const ConvolutionGeometry& g) { return g.batch * g.channels * elements_in(g.axes); }

std::vector<ConvolutionGeometry> geometries() {
  return {geometry(3, 19, 7, 2, 3), geometry(3, 27, 11, 4, 0), geometry(1, 11, 5, 2, 1), geometry(4, 13, 3, 2, 2)};
}

TEST(SpaceToDepth, TheFoldedConvolutionIsThePlainOne) {
  for (const ConvolutionGeometry& g : geometries()) {
    const auto how = SpaceToDepth::of(g);
    ASSERT_TRUE(how);
    const ConvolutionGeometry& f = how->folded;
    const auto image = numbers(image_count(g), 1), filters = numbers(g.weight_shape().count(), 5);
    std::vector<BFloat16> folded_image(static_cast<size_t>(image_count(f)), BFloat16(9.0f));
    std::vector<BFloat16> folded_filters(static_cast<size_t>(f.weight_shape().count()), BFloat16(9.0f));
    fold_image(nullptr, *how, image.data(), DType::kBF16, folded_image.data());
    fold_filters(nullptr, *how, filters.data(), nullptr, DType::kBF16, folded_filters.data());

    const auto results = static_cast<size_t>(g.batch * g.num_output * elements_out(g.axes));
    std::vector<float> want(results), got(results);
    for_products(g, false, [&](int64_t to, int64_t a, int64_t b) {
      const int64_t pixels = elements_out(g.axes), n = to / pixels / g.num_output, o = to / pixels % g.num_output;
      want[static_cast<size_t>((n * pixels + to % pixels) * g.num_output + o)] +=
          image[static_cast<size_t>(a)] * filters[static_cast<size_t>(b)];
    });
    for_products(f, true, [&](int64_t to, int64_t a, int64_t b) {
      got[static_cast<size_t>(to)] += static_cast<float>(folded_image[static_cast<size_t>(a)]) *
                                      static_cast<float>(folded_filters[static_cast<size_t>(b)]);
    });
    EXPECT_EQ(got, want) << g.channels << " channels";
  }
}

TEST(SpaceToDepth, GradientsOfFiltersComeBack) {
  for (const ConvolutionGeometry& g : geometries()) {
    const auto how = SpaceToDepth::of(g);
    const auto filters = numbers(g.weight_shape().count(), 2);
    std::vector<BFloat16> folded(static_cast<size_t>(how->folded.weight_shape().count()));
    fold_filters(nullptr, *how, filters.data(), nullptr, DType::kBF16, folded.data());
    std::vector<float> back(filters.size(), 100.0f);
    unfold_filters(nullptr, *how, DType::kBF16, folded.data(), false, back.data());
    EXPECT_EQ(back, filters);
    unfold_filters(nullptr, *how, DType::kBF16, folded.data(), true, back.data());
    for (size_t i = 0; i < filters.size(); ++i) EXPECT_EQ(back[i], 2 * filters[i]);
  }
}

TEST(SpaceToDepth, IsForStridesAndFewChannels) {
  EXPECT_FALSE(SpaceToDepth::of(geometry(3, 9, 3, 1, 1)));   // no stride
  EXPECT_FALSE(SpaceToDepth::of(geometry(64, 9, 3, 2, 1)));  // 64 * 9 products, 256 * 4 folded
  EXPECT_FALSE(SpaceToDepth::of(geometry(3, 9, 1, 2, 0)));   // 8 products, 16 folded
  ConvolutionGeometry grouped = geometry(2, 19, 7, 2, 3);
  grouped.group = 2;
  EXPECT_FALSE(SpaceToDepth::of(grouped));
  EXPECT_EQ(SpaceToDepth::of(geometry(3, 19, 7, 2, 3))->folded.channels, 16);
}

}  // namespace
}  // namespace robusta::test::space_to_depth_test
