// 1x1 convolutions as products of our own against the reference, through the oneDNN kernel that offers them to its
// tuner.

#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>

#include "base/simd.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::pointwise_test {
namespace {

constexpr char kPass[] = "pointwise";

/// Returns how often the pass was there to be taken.
int compare_if_offered(const std::string& param, const Shape& bottom, const std::vector<std::string>& after = {}) {
  SCOPED_TRACE(param + " of " + bottom.str());
  Prefer tuner(kPass);
  KernelCase what{{"type: 'Convolution' convolution_param { kernel_size: 1 " + param + " }"}, {bottom}};
  what.layers.insert(what.layers.end(), after.begin(), after.end());
  compare_with_reference("onednn", what, 2e-5, {.tuner = &tuner});
  return tuner.taken;
}

void compare(const std::string& param, const Shape& bottom, const std::vector<std::string>& after = {}) {
  EXPECT_GT(compare_if_offered(param, bottom, after), 0) << param << " of " << bottom.str();
}

class Pointwise : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_lanes() == 0)
      GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where the pass is not offered";
  }
};

/// Threads share the pixels; images that fill several chunks, and one that does not fill a group for each thread.
TEST_F(Pointwise, LargeImages) {
  compare("num_output: 64", {2, 64, 28, 28});
  compare("num_output: 32 bias_term: false", {3, 512, 14, 14});
  compare("num_output: 48", {1, 1040, 9, 12});
}

/// Threads share the outputs.
TEST_F(Pointwise, SmallImagesOfManyOutputs) {
  compare("num_output: 512", {1, 64, 7, 7});
  compare("num_output: 464", {2, 32, 4, 7});
}

/// Every number of pixels that are computed together.
TEST_F(Pointwise, SizesOfAllKinds) {
  for (int64_t width = 6; width <= 30; ++width) {
    compare("num_output: 32", {2, 32, 1, width});
    compare("num_output: 336", {1, 32, 1, width});
  }
}

TEST_F(Pointwise, Strides) {
  compare("num_output: 64 stride: 2", {2, 32, 14, 14});
  compare("num_output: 64 stride: 2", {2, 32, 13, 15});
  compare("num_output: 32 stride_h: 1 stride_w: 3", {2, 32, 5, 11});
  compare("num_output: 512 stride: 2", {1, 32, 14, 14});
}

TEST_F(Pointwise, ChannelsThatDoNotFillTheirBlocks) {
  for (const char* outputs : {"24", "17", "40", "13"})
    compare_if_offered(std::string("num_output: ") + outputs, {2, 32, 6, 7});
  for (const int64_t inputs : {24, 17, 40, 13}) compare_if_offered("num_output: 32", {2, inputs, 6, 7});
  EXPECT_GT(compare_if_offered("num_output: 72", {2, 72, 6, 7}), 0);
}

TEST_F(Pointwise, AppliesTheRelu) {
  compare("num_output: 32", {2, 32, 9, 9}, {"type: 'ReLU'"});
  compare("num_output: 512", {1, 32, 7, 7}, {"type: 'ReLU' relu_param { negative_slope: 0.25 }"});
}

/// Panels of one, two and three blocks of outputs, threads that share one, and pixels of several images at a time.
TEST_F(Pointwise, GradientsOfFilters) {
  const auto compare_gradients = [](const std::string& param, const Shape& bottom) {
    compare(param, bottom);
    const KernelCase what{{"type: 'Convolution' convolution_param { kernel_size: 1 " + param + " }"}, {bottom}};
    Prefer tuner(kPass);
    KernelHarness harness(what, {.backend = "onednn", .dtype = DType::kF32, .tuner = &tuner});
    const std::string kernels = harness.kernel().describe();
    EXPECT_TRUE(kernels.ends_with("pointwise:native")) << param << ": " << kernels;
  };
  for (const char* outputs : {"16", "32", "48", "64", "112", "200"}) {
    compare_gradients(std::string("num_output: ") + outputs, {3, 48, 9, 10});
  }
  compare_gradients("num_output: 32", {40, 32, 3, 3});
  compare_gradients("num_output: 32 stride: 3", {40, 32, 7, 8});
}

/// Each sum runs in order, whoever shares what.
TEST_F(Pointwise, ThreadsChangeNoBit) {
  const KernelCase what{{"type: 'Convolution' convolution_param { kernel_size: 1 num_output: 512 }"}, {{1, 32, 7, 7}}};
  Array input(32 * 7 * 7), filters(512 * 32), bias(512), gradient(512 * 7 * 7);
  for (size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<double>(i));
  for (size_t i = 0; i < filters.size(); ++i) filters[i] = std::cos(static_cast<double>(i));
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = std::sin(0.3 * static_cast<double>(i));
  const auto results_of = [&](int threads) -> Arrays {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    Prefer tuner(kPass);
    KernelHarness harness(what, {.backend = "onednn", .dtype = DType::kF32, .tuner = &tuner});
    harness.forward({input}, {filters, bias});
    harness.backward({gradient});
    omp_set_num_threads(before);
    return {harness.tops()[0], harness.param_diffs()[0], harness.param_diffs()[1]};
  };
  const Arrays one = results_of(1);
  EXPECT_EQ(results_of(2), one);
  EXPECT_EQ(results_of(3), one);
}

}  // namespace
}  // namespace robusta::test::pointwise_test
