// SpatialDropout.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::spatial_dropout_test {
namespace {

KernelCase dropout(const std::string& param, const Shape& bottom, caffe::Phase phase = caffe::TRAIN) {
  return {{"name: 'drop' type: 'SpatialDropout' dropout_param { " + param + " }"}, {bottom}, phase};
}

const KernelCase kCases[] = {
    dropout("", {4, 8, 3, 5}),
    dropout("dropout_ratio: 0.3", {3, 5, 4}),
    dropout("dropout_ratio: 0", {2, 3}),
    dropout("dropout_ratio: 0.9 random_seed: 3", {6, 3, 2, 2}),
    dropout("", {2, 3, 4, 5}, caffe::TEST),
    dropout("dropout_ratio: 1", {2, 3, 4}, caffe::TEST),
};

TEST(SpatialDropoutTest, ClearsWholeChannels) {
  KernelHarness harness(dropout("dropout_ratio: 0.25", {40, 50, 2}), {});
  harness.forward({Array(40 * 50 * 2, 3)});
  const Array y = harness.tops()[0];
  int cleared = 0;
  for (size_t channel = 0; channel < y.size() / 2; ++channel) {
    EXPECT_EQ(y[2 * channel], y[2 * channel + 1]);
    EXPECT_TRUE(y[2 * channel] == 0 || std::abs(y[2 * channel] - 4) < 1e-6);
    cleared += y[2 * channel] == 0;
  }
  EXPECT_NEAR(cleared, 500, 80);
}

/// A sample's channels depend on its position in the training, not on the batch that it is in.
TEST(SpatialDropoutTest, FollowsTheSample) {
  const auto tops = [](int64_t batch, uint64_t first) {
    KernelHarness harness(dropout("", {batch, 16, 1}), {.pass = {.seed = 7, .first_sample = first, .batch = batch}});
    harness.forward({Array(static_cast<size_t>(batch) * 16, 1)});
    return harness.tops()[0];
  };
  const Array two = tops(2, 8), second = tops(1, 9);
  EXPECT_EQ(Array(two.begin() + 16, two.end()), second);
  EXPECT_NE(Array(two.begin(), two.begin() + 16), second);
}

TEST(SpatialDropoutTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(SpatialDropoutTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(SpatialDropoutTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(SpatialDropoutTest, Errors) {
  expect_config_error(dropout("dropout_ratio: 1", {2, 3}), "dropout_ratio 1", "dropout_param.dropout_ratio");
  expect_config_error(dropout("dropout_ratio: nan", {2, 3}), "dropout_ratio", "dropout_param.dropout_ratio");
  expect_config_error(dropout("scale_train: false", {2, 3}), "scales when training", "dropout_param.scale_train");
  expect_config_error(dropout("sample_weights_test: true", {2, 3}), "drops nothing when testing",
                      "dropout_param.sample_weights_test");
  expect_config_error(dropout("", {3}), "takes an input of batch, channels");
}

}  // namespace
}  // namespace robusta::test::spatial_dropout_test
