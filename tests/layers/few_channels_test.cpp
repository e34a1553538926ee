// The gradient of filters over few channels against the reference, through the oneDNN kernel that offers it to its
// tuner.

#include <gtest/gtest.h>

#include "base/simd.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::few_channels_test {
namespace {

void compare(const std::string& param, const Shape& bottom, const std::vector<std::string>& after = {}) {
  SCOPED_TRACE(param);
  Prefer tuner("few_channels");
  KernelCase what{{"type: 'Convolution' convolution_param { " + param + " }"}, {bottom}};
  what.layers.insert(what.layers.end(), after.begin(), after.end());
  compare_with_reference("onednn", what, 2e-5, {.tuner = &tuner});
  // An image wants no gradient.
  KernelHarness harness(what, {.backend = "onednn", .dtype = DType::kF32, .bottom_grads = false, .tuner = &tuner});
  EXPECT_NE(harness.kernel().describe().find("few_channels"), std::string::npos) << harness.kernel().describe();
}

class FewChannels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_lanes() == 0)
      GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where the pass is not offered";
  }
};

TEST_F(FewChannels, FirstLayersOfKnownNets) {
  compare("num_output: 96 kernel_size: 11 stride: 4", {2, 3, 35, 35});
  compare("num_output: 64 kernel_size: 7 stride: 2 pad: 3", {3, 3, 20, 18});
  compare("num_output: 64 kernel_size: 3 pad: 1", {2, 3, 12, 10});
  compare("num_output: 32 kernel_size: 5", {3, 1, 12, 12});
}

TEST_F(FewChannels, WindowsOfAllKinds) {
  compare("num_output: 16 kernel_h: 3 kernel_w: 5 stride_h: 1 stride_w: 2 pad_h: 2 pad_w: 0", {2, 2, 9, 14});
  compare("num_output: 24 kernel_size: 3 dilation: 2 pad: 2", {2, 4, 8, 9});
  compare("num_output: 48 kernel_size: 2 stride: 3 bias_term: false", {1, 3, 7, 8});
}

/// Blocks of outputs alone and in pairs, filled and not.
TEST_F(FewChannels, NumbersOfOutputs) {
  for (const char* outputs : {"8", "13", "16", "24", "40", "50"}) {
    compare(std::string("kernel_size: 3 pad: 1 num_output: ") + outputs, {2, 3, 6, 7});
  }
}

TEST_F(FewChannels, LessWorkThanThreads) { compare("num_output: 32 kernel_size: 3", {1, 3, 3, 4}); }

TEST_F(FewChannels, AppliesTheReluOnTheWay) {
  compare("num_output: 32 kernel_size: 3 stride: 2", {2, 3, 9, 9}, {"type: 'ReLU'"});
  compare("num_output: 24 kernel_size: 3", {2, 3, 9, 9}, {"type: 'ReLU' relu_param { negative_slope: 0.25 }"});
}

}  // namespace
}  // namespace robusta::test::few_channels_test
