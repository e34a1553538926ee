// The gradient of images behind convolutions whose channels leave much of a block empty, against the reference, through
// the oneDNN kernel that offers the pass to its tuner.

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "base/simd.h"
#include "layers/backends/packed_rows/packed_image.h"
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
  // In blocks of 8 these channels leave little empty.
  if (vector_lanes() == 16) {
    compare("num_output: 50 kernel_size: 5", {3, 20, 12, 12});
    compare("num_output: 50 kernel_size: 5", {10, 20, 12, 12}, {"type: 'ReLU'"});  // so many that blocks are preferred
  }
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

TEST_F(PackedRows, MorePaddingBehind) {
  compare("num_output: 9 kernel_size: 3 pad_t: 1 pad_l: 0 pad_b: 2 pad_r: 1", {2, 10, 7, 5});
}

/// Where `channels` values of pixel `pixel` lie, of so many: by blocks of `lanes`, or last.
int64_t place_of(const packed_rows::Channels& channels, int64_t pixels, int64_t pixel, int64_t channel) {
  if (channels.last) return pixel * channels.count + channel;
  return (channel / channels.lanes * pixels + pixel) * channels.lanes + channel % channels.lanes;
}

class PackedImages : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  packed_rows::Channels channels(int64_t count) const {
    return {count, std::get<0>(GetParam()), std::get<1>(GetParam())};
  }
};
INSTANTIATE_TEST_SUITE_P(All, PackedImages, ::testing::Combine(::testing::Values(8, 16), ::testing::Bool()));

/// Borders are left out, and lanes that are no channels are zeros.
TEST_P(PackedImages, AreUnpacked) {
  for (const int64_t count : {5, 8, 16, 21, 35}) {
    const packed_rows::PackedImage image{channels(count), 3, 4, 2, 1, 7};
    std::vector<float> packed(static_cast<size_t>(6 * 7 * count + 16), NAN);
    std::vector<float> to(static_cast<size_t>(image.floats()), NAN), want(to.size());
    for (int64_t pixel = 0; pixel < 12; ++pixel) {
      for (int64_t c = 0; c < count; ++c) {
        const auto value = static_cast<float>(100 * pixel + c);
        packed[static_cast<size_t>(((2 + pixel / 4) * 7 + 1 + pixel % 4) * count + c)] = value;
        want[static_cast<size_t>(place_of(image.channels, 12, pixel, c))] = value;
      }
    }
    packed_rows::unpack_image(image, packed.data(), to.data());
    EXPECT_EQ(to, want) << count << " channels";
  }
}

/// Column after column, behind a ReLU or not.
TEST_P(PackedImages, GradientsArePacked) {
  for (const int64_t count : {5, 16, 21, 35}) {
    const packed_rows::Channels channels = this->channels(count);
    std::vector<float> gradients(static_cast<size_t>(6 * channels.floats_of_pixel())), gate(gradients.size());
    for (int64_t pixel = 0; pixel < 6; ++pixel) {
      for (int64_t c = 0; c < count; ++c) {
        const auto at = static_cast<size_t>(place_of(channels, 6, pixel, c));
        gradients[at] = static_cast<float>(1 + 100 * pixel + c);
        gate[at] = (pixel + c) % 3 == 0 ? -1.0f : 1.0f;
      }
    }
    for (const bool gated : {false, true}) {
      const int64_t row = (count + 15) / 16 * 16 + 16;
      std::vector<float> to(static_cast<size_t>(6 * row), NAN);
      packed_rows::pack_gradients({gradients.data(), gated ? gate.data() : nullptr, 0.5f, channels, 2, 3}, row,
                                  to.data());
      for (int64_t pixel = 0; pixel < 6; ++pixel) {
        for (int64_t c = 0; c < count; ++c) {
          const float slope = gated && (pixel + c) % 3 == 0 ? 0.5f : 1.0f;
          const int64_t column = pixel % 3 * 2 + pixel / 3;
          EXPECT_EQ(to[static_cast<size_t>(column * row + c)], slope * static_cast<float>(1 + 100 * pixel + c))
              << count << " channels, pixel " << pixel << ", channel " << c;
        }
      }
    }
  }
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
