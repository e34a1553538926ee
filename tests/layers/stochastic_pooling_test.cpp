// Stochastic pooling.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/kernel_checks.h"

namespace robusta::test::stochastic_pooling_test {
namespace {

/// Pixels above zero, as a ReLU leaves them; some are zero.
Array rectified(int, const Shape& shape) {
  Array values;
  for (int64_t i = 0; i < shape.count(); ++i) {
    values.push_back(static_cast<float>(std::max(0.0, std::sin(static_cast<double>(i) * 1.7) + 0.4)));
  }
  return values;
}

KernelCase stochastic(const std::string& fields, const Shape& bottom, caffe::Phase phase = caffe::TRAIN) {
  KernelCase what{{"type: 'Pooling' name: 'pool' pooling_param { pool: STOCHASTIC " + fields + " }"}, {bottom}, phase};
  what.bottom_values = rectified;
  return what;
}

std::vector<KernelCase> stochastic_cases() {
  std::vector<KernelCase> cases;
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    cases.push_back(stochastic("kernel_size: 2 stride: 2", {2, 3, 7, 6}, phase));
    cases.push_back(stochastic("kernel_size: 3 stride: 2", {2, 8, 5, 6}, phase));
    cases.push_back(stochastic("kernel_size: 3", {2, 2, 9}, phase));
    cases.push_back(stochastic("kernel_size: 2 stride: 2", {2, 2, 4, 5, 3}, phase));
    cases.push_back(stochastic("global_pooling: true", {2, 3, 4, 3}, phase));
  }
  return cases;
}

/// Where all pixels of a window are zero there is no slope.
TEST(StochasticPoolingTest, Gradients) {
  for (KernelCase c : stochastic_cases()) {
    c.bottom_values = [](int bottom, const Shape& shape) {
      Array values = rectified(bottom, shape);
      for (double& value : values) value += 0.25;
      return values;
    };
    check_gradients(c);
  }
}

TEST(StochasticPoolingTest, SinglePrecision) {
  for (const KernelCase& c : stochastic_cases()) compare_with_reference("reference", c);
}

TEST(StochasticPoolingTest, Gpu) {
  for (const KernelCase& c : stochastic_cases()) compare_gpu_with_reference(c);
}

TEST(StochasticPoolingTest, TestingGivesTheMean) {
  KernelHarness harness(stochastic("kernel_size: 2", {1, 1, 2, 3}, caffe::TEST), {});
  harness.forward({{1, 2, 0, 3, 0, 0}});
  EXPECT_DOUBLE_EQ(harness.tops()[0][0], 14.0 / 6);
  EXPECT_DOUBLE_EQ(harness.tops()[0][1], 2.0);
}

TEST(StochasticPoolingTest, NothingComesOfZeros) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    for (const char* backend : {"reference", "gpu"}) {
      KernelHarness harness(stochastic("kernel_size: 2", {1, 1, 2, 2}, phase),
                            {.backend = backend, .dtype = DType::kF32});
      harness.forward({{0, 0, 0, 0}});
      EXPECT_EQ(harness.tops()[0], Array{0}) << backend;
    }
  }
}

/// How often each pixel of one window is drawn, over many samples.
TEST(StochasticPoolingTest, DrawsByProbability) {
  constexpr int64_t kSamples = 20000;
  KernelHarness harness(stochastic("global_pooling: true", {kSamples, 1, 2, 2}), {});
  Array pixels;
  for (int64_t i = 0; i < kSamples; ++i) pixels.insert(pixels.end(), {1, 0, 2, 5});
  harness.forward({pixels});
  std::map<double, double> share;
  const Array drawn = harness.tops()[0];
  for (const double pixel : drawn) share[pixel] += 1.0 / kSamples;
  EXPECT_EQ(share.size(), 3u) << "what is zero is never drawn";
  EXPECT_NEAR(share[1], 1.0 / 8, 0.01);
  EXPECT_NEAR(share[2], 2.0 / 8, 0.01);
  EXPECT_NEAR(share[5], 5.0 / 8, 0.01);
}

Array drawn_from(uint64_t seed, uint64_t first_sample, int64_t samples) {
  KernelOptions how;
  how.pass = {.seed = seed, .first_sample = first_sample, .next_sample = 0, .batch = samples};
  KernelHarness harness(stochastic("kernel_size: 2 stride: 2", {samples, 3, 6, 6}), how);
  Array pixels;
  for (int64_t i = 0; i < samples; ++i) {
    const Array one = rectified(0, {3, 6, 6});
    pixels.insert(pixels.end(), one.begin(), one.end());
  }
  harness.forward({pixels});
  return harness.tops()[0];
}

TEST(StochasticPoolingTest, DrawsFollowTheSample) {
  const Array both = drawn_from(1, 10, 2), second = drawn_from(1, 11, 1);
  EXPECT_EQ(Array(both.begin() + 27, both.end()), second);
  EXPECT_NE(Array(both.begin(), both.begin() + 27), second);
  EXPECT_NE(drawn_from(2, 11, 1), second);
}

TEST(StochasticPoolingTest, HasNoPadding) {
  expect_config_error(stochastic("kernel_size: 3 pad: 1", {1, 1, 4, 4}), "no padding", "pooling_param.pad");
}

}  // namespace
}  // namespace robusta::test::stochastic_pooling_test
