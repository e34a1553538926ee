#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/philox.h"
#include "support/blocked.h"
#include "tensor/channels_last.h"

namespace robusta::test::dropout_test {
namespace {

const KernelCase kCases[] = {
    {{"type: 'Dropout'"}, {{3, 4, 5}}},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0.2 }"}, {{5, 13}}},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0 }"}, {{2, 7}}},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0.9 }"}, {{7, 5003}}},
    {{"type: 'Dropout'"}, {{2, 7}}, caffe::TEST},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0.3 scale_train: false }"}, {{3, 7}}},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0.3 scale_train: false }"}, {{3, 7}}, caffe::TEST},
    {{"type: 'Dropout' dropout_param { dropout_ratio: 0.3 sample_weights_test: true }"}, {{3, 7}}, caffe::TEST},
};

const char* const kDrop = "name: 'drop' type: 'Dropout' dropout_param { dropout_ratio: 0.3 }";

/// The survivors (scaled) of a batch of ones.
Array mask_of(const std::string& backend, const Shape& shape, const Pass& pass, const std::string& layer = kDrop,
              const Layout& layout = nullptr) {
  KernelHarness harness(
      {{layer}, {shape}},
      {.backend = backend, .dtype = DType::kF32, .backward = false, .bottom_layouts = {layout}, .pass = pass});
  harness.forward({Array(static_cast<size_t>(shape.count()), 1.0)});
  return harness.tops()[0];
}

TEST(DropoutTest, Gradients) {
  for (const KernelCase& c : kCases) {
    if (c.bottoms[0].count() < 1000) check_gradients(c);
  }
}

TEST(DropoutTest, KernelsAgree) {
  for (const KernelCase& c : kCases) {
    compare_with_reference("reference", c, 1e-6);
    compare_with_reference("native", c, 1e-6);
  }
}

TEST(DropoutTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c, 1e-6);
  compare_gpu_with_reference({{"type: 'Dropout'"}, {{2, 20, 3, 7}}}, 1e-6);
}

TEST(DropoutTest, GpuHasTheMasksOfTheCpu) {
  const Pass pass{.seed = 3, .first_sample = 1ull << 40, .next_sample = (1ull << 40) + 3, .batch = 3};
  for (const Shape& shape : {Shape{3, 7}, Shape{3, 4}, Shape{3, 4096}, Shape{3, 5, 11, 3}, Shape{3, 8, 3, 2}}) {
    for (const Layout& layout : {Layout{}, channels_last({shape, DType::kF32, nullptr})}) {
      EXPECT_EQ(mask_of("gpu", shape, pass, kDrop, layout), mask_of("reference", shape, pass)) << shape.str();
    }
  }
}

TEST(DropoutTest, TakesBlockedTensors) {
  compare_blocked("native", {{"type: 'Dropout'"}, {{2, 20, 3, 3}}});
  const KernelCase testing{{"type: 'Dropout'"}, {{2, 20, 3, 3}}, caffe::TEST};
  compare_blocked("native", testing);
  EXPECT_NE(layouts_taken("native", testing)[0], nullptr);
}

TEST(DropoutTest, KeepsTheRightShareAndTheMean) {
  const Array mask = mask_of("native", {64, 4096}, {.seed = 1, .first_sample = 0, .next_sample = 64, .batch = 64});
  double survivors = 0, sum = 0;
  for (double value : mask) survivors += value != 0, sum += value;
  const double count = static_cast<double>(mask.size());
  const double deviation = std::sqrt(0.3 * 0.7 / count);
  EXPECT_NEAR(survivors / count, 0.7, 4 * deviation);
  EXPECT_NEAR(sum / count, 1.0, 4 * deviation / 0.7);
  // Neighbours, and the same element of neighbouring samples, are independent.
  for (size_t distance : {size_t{1}, size_t{2}, size_t{4}, size_t{4096}}) {
    double both = 0, pairs = 0;
    for (size_t i = distance; i < mask.size(); ++i) both += mask[i] != 0 && mask[i - distance] != 0, ++pairs;
    EXPECT_NEAR(both / pairs, 0.49, 5 * std::sqrt(0.49 * 0.51 / pairs)) << distance;
  }
}

TEST(DropoutTest, DependsOnPositionsNotOnBatches) {
  for (const char* backend : {"reference", "native"}) {
    const Array whole = mask_of(backend, {6, 1030}, {.seed = 3, .first_sample = 100, .next_sample = 106, .batch = 6});
    Array parts = mask_of(backend, {2, 1030}, {.seed = 3, .first_sample = 100, .next_sample = 102, .batch = 2});
    const Array rest = mask_of(backend, {4, 1030}, {.seed = 3, .first_sample = 102, .next_sample = 106, .batch = 4});
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole) << backend;
  }
}

TEST(DropoutTest, DependsOnSeedLayerAndSample) {
  const Pass pass{.seed = 3, .first_sample = 100, .next_sample = 102, .batch = 2};
  const Array mask = mask_of("native", {2, 64}, pass);
  EXPECT_EQ(mask, mask_of("native", {2, 64}, pass));
  EXPECT_NE(mask, mask_of("native", {2, 64}, {.seed = 4, .first_sample = 100, .next_sample = 102, .batch = 2}));
  EXPECT_NE(mask, mask_of("native", {2, 64}, {.seed = 3, .first_sample = 102, .next_sample = 104, .batch = 2}));
  EXPECT_NE(mask,
            mask_of("native", {2, 64}, pass, "name: 'other' type: 'Dropout' dropout_param { dropout_ratio: 0.3 }"));
  EXPECT_NE(mask, mask_of("native", {2, 64}, pass,
                          "name: 'drop' type: 'Dropout' dropout_param { dropout_ratio: 0.3 random_seed: 99 }"));
}

TEST(DropoutTest, FollowsTheDocumentedRule) {
  const Array mask = mask_of("native", {2, 10}, {.seed = 3, .first_sample = 100, .next_sample = 102, .batch = 2});
  const uint64_t key = random_key(3, "drop", "dropout");
  for (uint64_t i = 0; i < 20; ++i) {
    const uint32_t word = philox(key, 100 + i / 10, i % 10 / 4)[i % 10 % 4];
    EXPECT_EQ(mask[i] != 0, word >= 0.3f * 4294967296.0) << i;
  }
}

TEST(DropoutTest, RatioMustLeaveSomething) {
  for (const char* ratio : {"1", "-0.1", "1.5", "nan"}) {
    expect_config_error({{std::string("type: 'Dropout' dropout_param { dropout_ratio: ") + ratio + " }"}, {{2, 3}}},
                        "dropout_ratio", "dropout_param.dropout_ratio");
  }
}

TEST(DropoutTest, ScalesWhenTestingInsteadOfTraining) {
  const std::string layer = "type: 'Dropout' dropout_param { dropout_ratio: 0.25 scale_train: false }";
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness train({{layer}, {{2, 50}}}, {.backend = backend, .dtype = DType::kF32});
    train.forward({Array(100, 2.0)});
    const Array top = train.tops()[0];
    const auto survivors = std::count(top.begin(), top.end(), 2.0);
    EXPECT_EQ(survivors + std::count(top.begin(), top.end(), 0.0), 100) << backend;
    EXPECT_GT(survivors, 50) << backend;
    KernelHarness testing({{layer}, {{2, 50}}, caffe::TEST}, {.backend = backend, .dtype = DType::kF32});
    testing.forward({Array(100, 2.0)});
    EXPECT_EQ(testing.tops()[0], Array(100, 1.5)) << backend;
  }
}

TEST(DropoutTest, DropsWhenTestingWhereAskedTo) {
  const std::string drop = "name: 'drop' type: 'Dropout' dropout_param { dropout_ratio: 0.3 ";
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness testing({{drop + "sample_weights_test: true }"}, {{2, 50}}, caffe::TEST},
                          {.backend = backend, .dtype = DType::kF32, .backward = false});
    testing.forward({Array(100, 1.0)});
    KernelHarness training({{drop + "}"}, {{2, 50}}}, {.backend = backend, .dtype = DType::kF32, .backward = false});
    training.forward({Array(100, 1.0)});
    EXPECT_EQ(testing.tops()[0], training.tops()[0]) << backend;
  }
}

TEST(DropoutTest, RatioOneCopiesWhenTesting) {
  const KernelCase c{{"type: 'Dropout' dropout_param { dropout_ratio: 1 }"}, {{2, 3}}, caffe::TEST};
  const KernelInputs in = make_inputs(c);
  EXPECT_EQ(run_reference(c, in).tops[0], in.bottoms[0]);
}

}  // namespace
}  // namespace robusta::test::dropout_test
