// The gradient of images behind convolutions whose channels leave much of a block empty, against the reference, through
// the oneDNN kernel that offers the pass to its tuner.

#include <gtest/gtest.h>

#include "base/simd.h"
#include "layers/backends/packed_rows/row_sums.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::packed_rows_test {
namespace {

void compare(const std::string& param, const Shape& bottom, const std::vector<std::string>& after = {}) {
  SCOPED_TRACE(param);
  Prefer tuner("packed_rows");
  KernelCase what{{"type: 'Convolution' convolution_param { " + param + " }"}, {bottom}};
  what.layers.insert(what.layers.end(), after.begin(), after.end());
  compare_with_reference("onednn", what, 2e-5, {.tuner = &tuner});
  KernelHarness harness(what, {.backend = "onednn", .dtype = DType::kF32, .tuner = &tuner});
  const std::string kernels = harness.kernel().describe();
  EXPECT_NE(kernels.find("packed_rows:native"), std::string::npos) << kernels;
}

class PackedRows : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_lanes() == 0)
      GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, where the pass is not offered";
  }
};

TEST_F(PackedRows, LeNets) {
  compare("num_output: 50 kernel_size: 5", {3, 20, 12, 12});
  compare("num_output: 9 kernel_size: 5", {2, 6, 14, 14});
}

TEST_F(PackedRows, WindowsOfAllKinds) {
  compare("num_output: 20 kernel_h: 3 kernel_w: 5 stride_h: 1 stride_w: 2 pad_h: 2 pad_w: 0", {2, 10, 9, 14});
  compare("num_output: 19 kernel_h: 3 kernel_w: 2 dilation: 2 dilation: 1 pad_h: 2 pad_w: 1", {2, 5, 8, 9});
  compare("num_output: 20 kernel_size: 2 stride: 3 bias_term: false", {1, 10, 7, 8});
  compare("num_output: 9 kernel_size: 1", {2, 10, 5, 3});
}

/// Rows of one vector, of several, of parts of them, and of more than a panel; pixels that fill no group.
TEST_F(PackedRows, RowsOfAllSizes) {
  for (const int channels : {5, 10, 17, 20, 35, 51}) {
    for (const int kernel : {2, 3, 4}) {
      compare("num_output: 9 kernel_size: " + std::to_string(kernel), {2, channels, 6, 7});
    }
  }
}

TEST_F(PackedRows, LessWorkThanThreads) { compare("num_output: 9 kernel_size: 3", {1, 5, 4, 3}); }

TEST_F(PackedRows, AppliesTheReluOnTheWay) {
  compare("num_output: 20 kernel_size: 3 stride: 2", {2, 10, 9, 9}, {"type: 'ReLU'"});
  compare("num_output: 20 kernel_size: 3", {2, 10, 9, 9}, {"type: 'ReLU' relu_param { negative_slope: 0.25 }"});
}

TEST(PackedRowPanels, LeaveLittleUnused) {
  for (const int lanes : {8, 16}) {
    for (int64_t row = 1; row < 600; ++row) {
      const packed_rows::PanelShape shape = packed_rows::best_panels(row, lanes);
      EXPECT_GE(shape.row_floats(), row);
      EXPECT_LT(shape.row_floats() - row, lanes) << row << " floats in vectors of " << lanes;
    }
  }
}

}  // namespace
}  // namespace robusta::test::packed_rows_test
