// Winograd convolutions of our own against the reference, through the oneDNN kernel that offers them to its tuner.

#include <gtest/gtest.h>

#include "base/simd.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::winograd_test {
namespace {

constexpr double kTolerance = 2e-5;

void compare(const std::string& param, const Shape& bottom, const std::vector<std::string>& after = {}) {
  SCOPED_TRACE(param);
  Prefer tuner(":native");
  KernelCase what{{"type: 'Convolution' convolution_param { " + param + " }"}, {bottom}};
  what.layers.insert(what.layers.end(), after.begin(), after.end());
  compare_with_reference("onednn", what, kTolerance, {.tuner = &tuner});
  EXPECT_GE(tuner.taken, 3);  // all three directions, at least once
}

class Winograd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_lanes() == 0)
      GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where the kernels are not offered";
  }
};

TEST_F(Winograd, Filters3x3) {
  compare("num_output: 32 kernel_size: 3 pad: 1", {2, 32, 8, 8});
  compare("num_output: 64 kernel_size: 3 pad: 1 bias_term: false", {3, 16, 9, 7});
  compare("num_output: 16 kernel_size: 3", {2, 48, 10, 11});
  compare("num_output: 16 kernel_size: 3 pad: 2", {1, 16, 5, 6});
}

TEST_F(Winograd, Filters5x5) {
  compare("num_output: 32 kernel_size: 5 pad: 2", {2, 32, 8, 8});
  compare("num_output: 48 kernel_size: 5", {2, 16, 9, 12});
  compare("num_output: 16 kernel_size: 5 pad: 3 bias_term: false", {1, 16, 3, 5});
  // oneDNN's kernels for AVX2 know no such pads, so that it takes no blocks there.
  if (vector_lanes() == 16) compare("num_output: 16 kernel_size: 5 pad: 4 bias_term: false", {1, 16, 3, 5});
}

TEST_F(Winograd, PadsThatDiffer) {
  compare("num_output: 32 kernel_size: 3 pad_h: 0 pad_w: 2", {2, 16, 7, 6});
  compare("num_output: 32 kernel_size: 5 pad_h: 3 pad_w: 1", {2, 16, 6, 9});
}

TEST_F(Winograd, ImagesSmallerThanATile) { compare("num_output: 16 kernel_size: 3 pad: 1", {5, 16, 2, 1}); }

TEST_F(Winograd, ChannelsThatDoNotFillABlock) {
  compare("num_output: 62 kernel_size: 3 pad: 1", {2, 60, 6, 7});
  // Less than half of a block is filled, by no multiple of four.
  compare("num_output: 81 kernel_size: 3 pad: 1", {12, 65, 7, 7});
  compare("num_output: 50 kernel_size: 5", {10, 20, 12, 12});
}

TEST_F(Winograd, Groups) {
  compare("num_output: 64 kernel_size: 5 pad: 2 group: 2", {2, 32, 7, 7});
  compare("num_output: 48 kernel_size: 3 pad: 1 group: 3", {3, 48, 5, 9});
}

TEST_F(Winograd, ManyPieces) { compare("num_output: 16 kernel_size: 3 pad: 1", {3, 16, 61, 67}); }

/// So many channels that the threads share each piece of tiles.
TEST_F(Winograd, ManyChannels) {
  compare("num_output: 256 kernel_size: 3 pad: 1", {3, 192, 5, 9});
  compare("num_output: 192 kernel_size: 3 pad: 1 bias_term: false", {1, 240, 45, 49});
}

TEST_F(Winograd, ReluAfterwards) {
  compare("num_output: 32 kernel_size: 3 pad: 1", {2, 32, 9, 9}, {"type: 'ReLU'"});
  compare("num_output: 32 kernel_size: 5 pad: 2", {2, 16, 9, 9}, {"type: 'ReLU' relu_param { negative_slope: 0.25 }"});
}

}  // namespace
}  // namespace robusta::test::winograd_test
