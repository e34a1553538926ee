// What convolutions on the GPU do besides the convolution, emulated.

#include "layers/convolution/convolution_steps_gpu.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace robusta::test {
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

TEST(ConvolutionSteps, BiasAndRelu) {
  for (const bool last : {false, true}) {
    const ResultView view{2, 3, 4, last};
    const std::vector<float> bias{-1, 2, 0.5f}, before = counting(view.count(), -12);
    for (const bool relu : {false, true}) {
      for (const bool with_bias : {false, true}) {
        std::vector<float> y = before;
        add_bias_and_relu(nullptr, view, with_bias ? bias.data() : nullptr, relu, 0.25f, y.data());
        for (int64_t i = 0; i < view.count(); ++i) {
          const auto at = static_cast<size_t>(i);
          const float sum = before[at] + (with_bias ? bias[static_cast<size_t>(channel_of(view, i))] : 0);
          EXPECT_EQ(y[at], relu && sum < 0 ? 0.25f * sum : sum) << i << last << relu << with_bias;
        }
      }
    }
  }
}

TEST(ConvolutionSteps, MasksGradients) {
  const std::vector<float> y{-0.5f, 0, 2, 3}, dy{4, 8, -12, 16};
  std::vector<float> masked(4);
  mask_gradient(nullptr, {1, 1, 4}, y.data(), dy.data(), 0.5f, masked.data(), {}, nullptr);
  EXPECT_EQ(masked, (std::vector<float>{2, 4, -12, 16}));
}

TEST(ConvolutionSteps, BiasGradientSumsChannels) {
  for (const bool last : {false, true}) {
    for (const ResultView view : {ResultView{2, 3, 4, last}, ResultView{3, 1, 5, last}, ResultView{1, 4, 5000, last}}) {
      const std::vector<float> dy = counting(view.count());
      std::vector<double> want(static_cast<size_t>(view.channels), 100);
      for (int64_t i = 0; i < view.count(); ++i) {
        want[static_cast<size_t>(channel_of(view, i))] += dy[static_cast<size_t>(i)];
      }
      std::vector<double> scratch(bias_gradient_scratch(view) / sizeof(double) + 1);
      std::vector<float> db(static_cast<size_t>(view.channels), 100);
      bias_gradient(nullptr, view, dy.data(), {db.data(), true}, scratch.data());
      for (size_t c = 0; c < db.size(); ++c) EXPECT_FLOAT_EQ(db[c], static_cast<float>(want[c])) << c << last;
      bias_gradient(nullptr, view, dy.data(), {db.data(), false}, scratch.data());
      for (size_t c = 0; c < db.size(); ++c) EXPECT_FLOAT_EQ(db[c], static_cast<float>(want[c] - 100)) << c << last;
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
  // In Caffe's order already: only added.
  transpose_filters(nullptr, 2, 12, 1, filters(plain), true, filters(back));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(back[i], 2 * plain[i] + 1000);
}

}  // namespace
}  // namespace robusta::test
