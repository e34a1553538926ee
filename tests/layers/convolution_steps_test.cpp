// What convolutions on the GPU do besides the convolution, emulated.

#include "layers/types/convolution/convolution_steps_gpu.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "base/str.h"

namespace robusta::test::convolution_steps_test {
namespace {

std::vector<float> counting(int64_t count, float from = 0) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), from);
  return values;
}

FilterArray filters(const std::vector<float>& values) { return {DType::kF32, const_cast<float*>(values.data())}; }

/// Plain and channels last: the channel of element i.
int64_t channel_of(const ResultView& view, int64_t i) {
  return view.channels_last ? i % view.channels : i / view.pixels % view.channels;
}

/// Small whole numbers, which 16 bits hold exactly, as `type`.
struct Typed {
  DType type;
  std::vector<float> values;
  std::vector<float> memory;  // aligned for packs by its allocator
  Typed(DType type, std::vector<float> from) : type(type), values(std::move(from)), memory(values.size()) {
    from_floats(type, values.data(), memory.data(), values.size());
  }
  void* data() { return memory.data(); }
  std::vector<float> now() const {
    std::vector<float> floats(values.size());
    to_floats(type, memory.data(), floats.data(), floats.size());
    return floats;
  }
};

std::vector<float> small_numbers(int64_t count, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>((i * 37 + seed) % 17 - 8);
  return values;
}

/// Packs across channels, packs along planes, neither; all types.
std::vector<ResultView> result_views() {
  std::vector<ResultView> views;
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const bool last : {false, true}) {
      for (const auto& [batch, channels, pixels] :
           {std::array{2, 3, 4}, {3, 1, 5}, {2, 16, 9}, {3, 5, 16}, {1, 4, 5000}}) {
        views.push_back({batch, channels, pixels, last, type});
      }
    }
  }
  return views;
}

std::string text_of(const ResultView& v) {
  return str(v.batch, " ", v.channels, " ", v.pixels, v.channels_last ? " last " : " plain ", name_of(v.type));
}

TEST(ConvolutionSteps, BiasSumAndRelu) {
  for (const ResultView& view : result_views()) {
    const std::vector<float> bias = small_numbers(view.channels, 5);
    Typed addend(view.type, small_numbers(view.count(), 11));
    for (const unsigned with : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
      const bool relu = with & 1, with_bias = with & 2, adds = with & 4;
      Typed y(view.type, small_numbers(view.count(), 3));
      finish_result(nullptr, view,
                    {.bias = with_bias ? bias.data() : nullptr,
                     .addend = adds ? addend.data() : nullptr,
                     .relu = relu,
                     .slope = 0.25f},
                    y.data());
      std::vector<float> want = y.values;
      for (int64_t i = 0; i < view.count(); ++i) {
        float& value = want[static_cast<size_t>(i)];
        if (with_bias) value += bias[static_cast<size_t>(channel_of(view, i))];
        if (adds) value += addend.values[static_cast<size_t>(i)];
        if (relu && value < 0) value *= 0.25f;
      }
      EXPECT_EQ(y.now(), want) << text_of(view) << with;
    }
  }
}

TEST(ConvolutionSteps, GradientsAreMaskedAndSummed) {
  for (const ResultView& view : result_views()) {
    Typed y(view.type, small_numbers(view.count(), 1)), dy(view.type, small_numbers(view.count(), 4));
    std::vector<double> scratch(bias_gradient_scratch(view) / sizeof(double) + 1);
    for (const bool relu : {false, true}) {
      std::vector<float> want = dy.values;
      for (size_t i = 0; i < want.size(); ++i) want[i] *= !relu || y.values[i] > 0 ? 1.0f : 0.5f;
      std::vector<float> sums(static_cast<size_t>(view.channels), 100);
      for (int64_t i = 0; i < view.count(); ++i) {
        sums[static_cast<size_t>(channel_of(view, i))] += want[static_cast<size_t>(i)];
      }
      Typed masked(view.type, std::vector<float>(want.size()));
      std::vector<float> db(sums.size(), 100);
      const auto run = [&](const BiasGradient& to) {
        if (relu) return mask_gradient(nullptr, view, y.data(), dy.data(), 0.5f, masked.data(), to, scratch.data());
        bias_gradient(nullptr, view, dy.data(), to, scratch.data());
      };
      run({db.data(), true});
      EXPECT_EQ(db, sums) << text_of(view) << relu;
      EXPECT_TRUE(!relu || masked.now() == want) << text_of(view);
      run({db.data(), false});
      for (float& sum : sums) sum -= 100;
      EXPECT_EQ(db, sums) << text_of(view) << relu;
      if (!relu) continue;
      masked = Typed(view.type, std::vector<float>(want.size()));
      run({});
      EXPECT_EQ(masked.now(), want) << text_of(view) << " without sums";
    }
  }
}

TEST(ConvolutionSteps, FiltersGoThereAndBack) {
  const std::vector<float> plain = counting(2 * 3 * 4);  // 2 outputs, 3 channels, 4 taps
  std::vector<float> packed(plain.size()), back(plain.size(), 1000);
  transpose_filters(nullptr, 2, 3, 4, filters(plain), false, filters(packed));
  EXPECT_EQ(packed[0], 0);
  EXPECT_EQ(packed[1], 4);  // the next channel at the same tap
  EXPECT_EQ(packed[3], 1);  // the next tap
  EXPECT_EQ(packed[12], 12);
  transpose_filters(nullptr, 2, 4, 3, filters(packed), true, filters(back));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(back[i], plain[i] + 1000);
  // In Caffe's order already: only added, or only rounded.
  transpose_filters(nullptr, 2, 12, 1, filters(plain), true, filters(back));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(back[i], 2 * plain[i] + 1000);
  Typed rounded(DType::kBF16, std::vector<float>(plain.size()));
  transpose_filters(nullptr, 2, 12, 1, filters(plain), false, {rounded.type, rounded.data()});
  EXPECT_EQ(rounded.now(), plain);
}

}  // namespace
}  // namespace robusta::test::convolution_steps_test
