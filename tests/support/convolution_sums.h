/// Convolutions of bf16 with channels last by their definition, with sums in double: what passes are compared with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/amx_cases.h"

namespace robusta::test {

/// visit(input, result, weight): every product that a convolution adds up, by where its factors lie.
template <typename Visit>
void for_products(const ConvolutionGeometry& g, const Visit& visit) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  const int64_t channels = g.channels / g.group, outputs = g.num_output / g.group;
  for (int64_t result = 0; result < g.batch * y.out * x.out; ++result) {
    for (int64_t tap = 0; tap < y.kernel * x.kernel; ++tap) {
      const int64_t row = result / x.out % y.out * y.stride - y.pad + tap / x.kernel * y.dilation;
      const int64_t column = result % x.out * x.stride - x.pad + tap % x.kernel * x.dilation;
      if (row < 0 || row >= y.in || column < 0 || column >= x.in) continue;
      const int64_t pixel = (result / x.out / y.out * y.in + row) * x.in + column;
      for (int64_t o = 0; o < g.num_output; ++o) {
        for (int64_t c = 0; c < channels; ++c) {
          visit(pixel * g.channels + o / outputs * channels + c, result * g.num_output + o,
                (o * channels + c) * y.kernel * x.kernel + tap);
        }
      }
    }
  }
}

/// Each value within a rounding to bf16, of what is stored so.
inline void expect_near(const std::vector<double>& what, const std::vector<double>& expected, double rounding) {
  ASSERT_EQ(what.size(), expected.size());
  for (size_t i = 0; i < what.size(); ++i) {
    ASSERT_NEAR(what[i], expected[i], 1e-3 + rounding * std::abs(expected[i])) << "element " << i;
  }
}

/// Sums over results with channels last, and over their squares, as a pass gives them that sums what it writes.
inline void expect_result_sums(const std::vector<uint16_t>& results, const std::vector<float>& sums) {
  const size_t channels = sums.size() / 2;
  std::vector<double> expected(sums.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto result = static_cast<double>(from_bf16(results[i]));
    expected[i % channels] += result;
    expected[channels + i % channels] += result * result;
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const double of_squares = expected[channels + i % channels];
    ASSERT_NEAR(static_cast<double>(sums[i]), expected[i], 1e-5 * (1 + of_squares)) << "sum " << i;
  }
}

/// What a pass reads and writes, and what ought to be there then.
class ConvolutionSums {
 public:
  explicit ConvolutionSums(const ConvolutionGeometry& geometry)
      : geometry_(geometry),
        images_(half_numbers(geometry.batch * geometry.channels * elements_in(geometry.axes), 0.2f)),
        results_(half_numbers(geometry.batch * geometry.num_output * elements_out(geometry.axes), 0.8f)),
        weights_(static_cast<size_t>(geometry.weight_shape().count())),
        bias_(static_cast<size_t>(geometry.num_output)) {
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] = std::sin(0.5f + 1.3f * static_cast<float>(i));
    for (size_t i = 0; i < bias_.size(); ++i) bias_[i] = std::sin(static_cast<float>(i));
    written_ = {images_, results_, weights_, bias_};
  }

  /// Of a pass, which adds to the gradients of weights and biases.
  onednn::ConvolutionData data() {
    onednn::ConvolutionData data{written_.images.data(), written_.weights.data(), written_.bias.data(),
                                 written_.results.data()};
    data.add_weights = data.add_bias = true;
    return data;
  }

  const std::vector<uint16_t>& results() const { return written_.results; }

  /// `slope`: of the ReLU behind the results; 1: there is none.
  void expect(onednn::Direction direction, double slope = 1) const {
    if (direction == onednn::Direction::kBackwardWeights) return expect_gradients();
    const bool forward = direction == onednn::Direction::kForward;
    std::vector<double> sums(forward ? results_.size() : images_.size());
    if (forward) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<double>(bias_[i % bias_.size()]);
    }
    for_products(geometry_, [&](int64_t image, int64_t result, int64_t weight) {
      const double factor = static_cast<double>(weights_[static_cast<size_t>(weight)]);
      if (forward) {
        sums[static_cast<size_t>(result)] += value(images_, image) * factor;
      } else {
        sums[static_cast<size_t>(image)] += value(results_, result) * factor;
      }
    });
    for (double& sum : sums) sum = sum > 0 ? sum : slope * sum;
    expect_near(values(forward ? written_.results : written_.images), sums, 0x1p-8);
  }

 private:
  struct Arrays {
    std::vector<uint16_t> images, results;
    std::vector<float> weights, bias;
  };

  static double value(const std::vector<uint16_t>& from, int64_t at) {
    return static_cast<double>(from_bf16(from[static_cast<size_t>(at)]));
  }
  static std::vector<double> values(const std::vector<uint16_t>& from) {
    std::vector<double> all;
    for (const uint16_t number : from) all.push_back(static_cast<double>(from_bf16(number)));
    return all;
  }

  void expect_gradients() const {
    std::vector<double> weights(weights_.begin(), weights_.end()), bias(bias_.begin(), bias_.end());
    for_products(geometry_, [&](int64_t image, int64_t result, int64_t weight) {
      weights[static_cast<size_t>(weight)] += value(images_, image) * value(results_, result);
    });
    for (size_t i = 0; i < results_.size(); ++i) {
      bias[i % bias.size()] += value(results_, static_cast<int64_t>(i));
    }
    expect_near({written_.weights.begin(), written_.weights.end()}, weights, 1e-5);
    expect_near({written_.bias.begin(), written_.bias.end()}, bias, 1e-5);
  }

  ConvolutionGeometry geometry_;
  std::vector<uint16_t> images_, results_;
  std::vector<float> weights_, bias_;
  Arrays written_;
};

}  // namespace robusta::test
