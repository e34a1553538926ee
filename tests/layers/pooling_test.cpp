#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>

#include "layers/types/pooling/gpu_average.h"
#include "layers/types/pooling/gpu_max.h"
#include "layers/types/pooling/gpu_strips.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::pooling_test {
namespace {

KernelCase pooling(const std::string& fields, std::vector<Shape> bottoms = {{2, 3, 7, 6}}, int tops = 1) {
  return {{"type: 'Pooling' pooling_param { " + fields + " }"}, bottoms, caffe::TRAIN, tops};
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all;
  for (const std::string method : {"pool: MAX ", "pool: AVE "}) {
    all.push_back(pooling(method + "kernel_size: 2 stride: 2"));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2"));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2 round_mode: FLOOR"));
    all.push_back(pooling(method + "kernel_size: 3 pad: 1"));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2 pad: 2"));
    all.push_back(pooling(method + "kernel_h: 2 kernel_w: 3 stride_h: 1 stride_w: 2 pad_h: 1 pad_w: 0"));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2 pad_t: 1 pad_r: 2"));
    all.push_back(pooling(method + "kernel_h: 2 kernel_w: 4 pad_b: 1 pad_l: 3 ceil_mode: false"));
    all.push_back(pooling(method + "kernel_size: 4 stride: 3 pad_type: 1"));
    all.push_back(pooling(method + "global_pooling: true"));
    all.push_back(pooling(method + "kernel_size: 2 stride: 3", {{2, 3, 7, 8}}));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2", {{1, 2, 2, 2}}));
    all.push_back(pooling(method + "kernel_size: 3 stride: 2 pad: 1", {{2, 2, 9}}));
    all.push_back(pooling(method + "kernel_size: 2 stride: 2", {{2, 2, 4, 5, 3}}));
    all.push_back(pooling(method + "kernel_size_3d: 1 kernel_size_3d: 2 kernel_size_3d: 3 stride_3d: 1 stride_3d: 2 "
                                   "stride_3d: 1 pad_3d: 0 pad_3d: 1 pad_3d: 2",
                          {{2, 2, 4, 5, 3}}));
  }
  all.push_back(pooling("pool: AVE kernel_size: 3 stride: 2 pad: 1 avg_include_pad: false"));
  for (const std::string method : {"pool: MAX ", "pool: AVE ", "pool: AVE_EXC_PAD "}) {
    all.push_back(pooling(method + "kernel_size: 3 dilation: 2"));
    all.push_back(pooling(method + "kernel_size: 2 stride: 2 dilation: 3 pad: 2"));
    all.push_back(pooling(method + "kernel_h: 2 kernel_w: 3 dilation: 4 dilation: 1 pad_h: 2 pad_w: 1"));
    all.push_back(pooling(method + "kernel_size: 2 dilation: 2", {{2, 2, 5, 4, 3}}));
    all.push_back(pooling(method + "kernel_size: 2 dilation: 3 stride: 2 pad: 1", {{2, 2, 9}}));
  }
  all.push_back(pooling("pool: AVE_EXC_PAD kernel_size: 3 stride: 2 pad: 1"));
  all.push_back(pooling("pool: AVE_TF kernel_size: 3 stride: 2 pad_b: 2 pad_r: 1"));
  all.push_back(pooling("pool: MAX kernel_size: 3 stride: 2 pad: 1", {{2, 3, 7, 6}}, 2));
  return all;
}

TEST(PoolingTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(PoolingTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(PoolingTest, DilatedWindowsLeaveOutWhatLiesBetween) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness largest({{"type: 'Pooling' pooling_param { kernel_size: 2 dilation: 2 }"}, {{1, 1, 6}}},
                          {.backend = backend, .dtype = DType::kF32});
    largest.forward({{1, 9, 2, 3, 7, 4}});
    EXPECT_EQ(largest.tops()[0], (Array{2, 9, 7, 4})) << backend;
    KernelHarness average(
        {{"type: 'Pooling' pooling_param { pool: AVE kernel_size: 2 dilation: 2 pad: 1 }"}, {{1, 1, 4}}},
        {.backend = backend, .dtype = DType::kF32});
    average.forward({{2, 4, 6, 8}});
    EXPECT_EQ(average.tops()[0], (Array{2, 4, 6, 3})) << backend;
  }
}

TEST(PoolingTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
  // Windows that want more than a byte to tell their taps apart.
  compare_gpu_with_reference(pooling("pool: MAX kernel_size: 17 stride: 5 pad: 3", {{2, 3, 31, 24}}));
  compare_gpu_with_reference(pooling("pool: MAX kernel_size: 1048576 stride: 1048576 pad: 2", {{2, 3, 5, 4}}));
  KernelCase ties = pooling("pool: MAX kernel_size: 3 stride: 2", {{1, 4, 5, 5}});
  ties.bottom_values = [](int, const Shape& shape) { return Array(static_cast<size_t>(shape.count()), 0.5); };
  compare_gpu_with_reference(ties);
}

/// Channels last, they are taken one by one, or in one or more packs: 4 or (of 16 bits) 8.
TEST(PoolingTest, GpuTakesPacksOfChannels) {
  std::vector<KernelCase> all = cases();
  all.push_back(pooling("pool: MAX kernel_size: 7 stride: 2 pad: 3", {{1, 1, 13, 14}}));
  all.push_back(pooling("pool: MAX kernel_size: 17 stride: 5 pad: 3", {{2, 1, 31, 24}}));
  all.push_back(pooling("pool: MAX kernel_size: 1048576 stride: 1048576 pad: 2", {{2, 1, 5, 4}}));
  all.push_back(pooling("pool: AVE kernel_size: 1048576 stride: 1048576 pad: 2", {{2, 1, 5, 4}}));
  for (KernelCase& c : all) {
    for (const int64_t channels : {5, 8, 12, 24}) {
      c.bottoms[0][1] = channels;
      compare_gpu_with_reference(c);
    }
  }
  // Windows that overlap are gone through in strips: several of them, whole and not, below and beside each other.
  for (const std::string method : {"pool: MAX ", "pool: AVE ", "pool: AVE_EXC_PAD "}) {
    for (const std::string windows : {"stride: 1", "stride: 1 pad: 1", "stride: 1 pad: 2", "stride: 2",
                                      "stride: 2 pad: 1", "stride: 2 round_mode: FLOOR", "stride_h: 1 stride_w: 2"}) {
      for (const auto& [height, width] : {std::pair<int64_t, int64_t>{3, 3}, {9, 10}, {12, 11}, {14, 3}}) {
        compare_gpu_with_reference(pooling(method + "kernel_size: 3 " + windows, {{2, 16, height, width}}));
      }
    }
  }
  KernelCase ties = pooling("pool: MAX kernel_size: 3 stride: 2", {{1, 8, 5, 5}});
  ties.bottom_values = [](int, const Shape& shape) { return Array(static_cast<size_t>(shape.count()), 0.5); };
  compare_gpu_with_reference(ties);
}

/// What a kernel writes into a bottom of so many packs, which held no numbers before.
template <typename Body>
std::vector<float> written(int64_t packs, int64_t count, Body body) {
  std::vector<float> dx(static_cast<size_t>(packs) * 4, NAN);
  body.dx = dx.data();
  for (int64_t i = 0; i < count; ++i) body(i);
  return dx;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <int kStride>
void expect_strips_to_gather(const std::string& fields, int64_t height, int64_t width) {
  SCOPED_TRACE(fields + " " + std::to_string(height) + " x " + std::to_string(width));
  const KernelHarness harness(pooling("kernel_size: 3 " + fields, {{2, 8, height, width}}), {.dtype = DType::kF32});
  const auto& layer = dynamic_cast<const PoolingLayer&>(harness.layer());
  const PoolGeometry<4> g(layer, true);
  std::vector<float> dy(static_cast<size_t>(g.packs_out()) * 4);
  std::vector<uint8_t> taps(dy.size());
  for (size_t i = 0; i < dy.size(); ++i) {
    dy[i] = std::sin(static_cast<float>(i + 1)) * 3;
    const auto tap = static_cast<uint8_t>(i * 7 / 3 % 10);
    taps[i] = tap == 9 ? 255 : tap;  // 255: of a window without a largest pixel
  }
  using Largest = PoolStrips<float, 4, kStride, PoolMaxWindows<float, 4>>;
  using Average = PoolStrips<float, 4, kStride, PoolAverageWindows<float, 4>>;
  ASSERT_TRUE(Largest::takes(g));
  const Largest largest(g, {dy.data(), taps.data()}, nullptr);
  const Average average(g, {dy.data(), true}, nullptr);
  const PoolMaxGather<float, uint8_t, 4> gather_largest{g, dy.data(), taps.data(), nullptr};
  const PoolAverageGather<float, 4> gather_average{g, true, dy.data(), nullptr};
  EXPECT_TRUE(
      same_bits(written(g.packs_in(), largest.count(), largest), written(g.packs_in(), g.packs_in(), gather_largest)));
  expect_close(written(g.packs_in(), average.count(), average), written(g.packs_in(), g.packs_in(), gather_average),
               1e-6);
  EXPECT_LT(largest.count(), g.packs_in());
}

/// A pixel's sum grows in the order of its windows, whichever kernel makes it, and no pixel is left out. An average may
/// be rounded once less where a processor multiplies and adds at once.
TEST(PoolingTest, StripsHaveTheGradientsOfPixelsThatGather) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{7, 6}, {9, 13}, {16, 15}, {28, 28}}) {
    for (const char* pad : {"", "pad: 1", "pad: 2"}) {
      expect_strips_to_gather<1>(std::string("stride: 1 ") + pad, height, width);
      expect_strips_to_gather<2>(std::string("stride: 2 ") + pad, height, width);
    }
  }
}

Shape top_of(const std::string& fields, const Shape& bottom) {
  return KernelHarness(pooling(fields, {bottom}), {}).top_shapes()[0];
}

/// pad_type: 1 gives one window for each stride-th pixel, and more padding behind than in front.
TEST(PoolingTest, PadTypeIsTensorFlowsSame) {
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2 pad_type: 1", {1, 1, 7, 6}), (Shape{1, 1, 4, 3}));
  EXPECT_EQ(top_of("kernel_size: 1 stride: 2 pad_type: 1", {1, 1, 4, 5}), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(top_of("kernel_size: 2 pad_type: 1", {1, 1, 4, 5}), (Shape{1, 1, 4, 5}));
  const auto pooled = [](const std::string& method) {
    KernelHarness harness(pooling(method + "kernel_size: 3 stride: 2 pad_type: 1", {{1, 1, 6}}), {});
    harness.forward({{1, 2, 3, 4, 5, 6}});
    return harness.tops()[0];
  };
  EXPECT_EQ(pooled("pool: MAX "), (Array{3, 5, 6}));
  EXPECT_EQ(pooled("pool: AVE "), (Array{2, 4, 11.0 / 3}));
  EXPECT_EQ(pooled("pool: AVE_EXC_PAD "), (Array{2, 4, 5.5}));
  const auto field_of = [](const std::string& fields) {
    return error_of([&] { top_of("kernel_size: 3 " + fields, {1, 1, 7, 6}); }).field();
  };
  EXPECT_EQ(field_of("pad_type: 1 pad: 1"), "pooling_param.pad_type");
  EXPECT_EQ(field_of("pad_type: 1 pad_l: 1"), "pooling_param.pad_type");
  EXPECT_EQ(field_of("pad_type: 2"), "pooling_param.pad_type");
}

TEST(PoolingTest, RoundsAsCaffe) {
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2", {1, 1, 5, 6}), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 round_mode: FLOOR", {1, 1, 5, 6}), (Shape{1, 1, 2, 3}));
  // The fourth window would begin at 6 = 5 + 1, in the padding behind the image.
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 pad: 1", {1, 1, 5, 4}), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2", {1, 1, 2, 2}), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(top_of("kernel_size: 1 stride: 3", {1, 1, 6, 6}), (Shape{1, 1, 3, 3}));
}

TEST(PoolingTest, RoundsAsCeilModeSays) {
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 ceil_mode: false", {1, 1, 5, 6}), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 ceil_mode: true", {1, 1, 5, 6}), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(top_of("kernel_size: 2 stride: 2 ceil_mode: false round_mode: FLOOR", {1, 1, 5, 6}), (Shape{1, 1, 2, 3}));
}

TEST(PoolingTest, PadsEachSide) {
  // As TensorFlow's SAME: (8 + 1 - 3) / 2 + 1 and (9 + 0 + 2 - 3) / 2 + 1.
  EXPECT_EQ(top_of("kernel_size: 3 stride: 2 pad_b: 1 pad_r: 2", {1, 1, 8, 9}), (Shape{1, 1, 4, 5}));
  // The last window may not begin in the padding behind: 8 = 8 + 0.
  EXPECT_EQ(top_of("kernel_size: 3 stride: 4 pad_b: 2 pad_r: 2", {1, 1, 8, 7}), (Shape{1, 1, 2, 2}));
}

TEST(PoolingTest, AveragesWithoutThePadding) {
  const auto average_of = [](const std::string& fields) {
    const KernelCase c = pooling("kernel_size: 2 stride: 2 pad: 1 " + fields, {{1, 1, 2, 2}});
    KernelInputs in = make_inputs(c);
    in.bottoms[0] = {1, 2, 3, 4};
    return run_reference(c, in).tops[0];
  };
  EXPECT_EQ(average_of("pool: AVE"), (Array{0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(average_of("pool: AVE_EXC_PAD"), (Array{1, 2, 3, 4}));
  EXPECT_EQ(average_of("pool: AVE_TF"), (Array{1, 2, 3, 4}));
}

/// Backend and kind of a kernel.
class PoolingKernelTest : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  const KernelOptions how{.backend = GetParam().first, .kind = GetParam().second, .dtype = DType::kF32};
};

TEST_P(PoolingKernelTest, EmptyWindows) {
  const Array pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  KernelHarness max(pooling("pool: MAX kernel_size: 1 stride: 5", {{1, 1, 2, 8}}, 2), how);
  max.forward({pixels});  // windows at column 0, 5 and 10; the last begins behind the image
  EXPECT_EQ(max.tops()[0], (Array{1, 6, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX}));
  EXPECT_EQ(max.tops()[1], (Array{0, 5, -1, -1, -1, -1}));
  max.backward({{1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}});
  EXPECT_EQ(max.bottom_diffs()[0], (Array{1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(max.damage(), "");

  KernelHarness average(pooling("pool: AVE kernel_size: 1 stride: 2", {{1, 1, 1, 4}}), how);
  average.forward({{1, 2, 3, 4}});  // the third window begins exactly behind the image: 0 / 0
  ASSERT_EQ(average.tops()[0].size(), 3u);
  EXPECT_TRUE(std::isnan(average.tops()[0][2]));
  average.backward({{1, 2, 3}});
  EXPECT_EQ(average.bottom_diffs()[0], (Array{1, 0, 2, 0}));
}

TEST_P(PoolingKernelTest, MissingTopGradientMeansZero) {
  KernelHarness harness(pooling("kernel_size: 2", {{1, 1, 2, 2}}, 2), how);
  harness.forward({{1, 4, 3, 2}});
  harness.backward({{5}, {}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 5, 0, 0}));
  harness.backward({{}, {}});
  EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 0, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Kernels, PoolingKernelTest,
                         testing::Values(std::pair{"reference", "cpu"}, std::pair{"gpu", "emulated"}));

TEST(PoolingTest, RefusesBadFields) {
  const auto bad = [](const std::string& fields, const std::string& cause, const std::string& field) {
    expect_config_error(pooling(fields), cause, "pooling_param." + field);
  };
  bad("pool: MAX", "no kernel_size", "kernel_size");
  bad("kernel_size: 0", "kernel_size is 0", "kernel_size");
  bad("kernel_size: 2 stride: 0", "stride is 0", "stride");
  bad("kernel_size: 2 pad: 2", "pad 2 is not smaller", "pad");
  bad("kernel_size: 9 stride: 2", "kernel_size 9 exceeds input height 7", "kernel_size");
  bad("kernel_h: 2", "only one of kernel_h and kernel_w", "kernel_h");
  bad("kernel_size: 2 kernel_h: 2 kernel_w: 2", "together with kernel_h", "kernel_size");
  bad("kernel_size: 2 stride: 1 stride_h: 2 stride_w: 2", "together with stride_h", "stride");
  bad("kernel_size: 2 pad_w: 1", "only one of pad_h and pad_w", "pad_w");
  bad("global_pooling: true kernel_size: 2", "together with global_pooling", "kernel_size");
  bad("global_pooling: true stride: 2", "stride 1 only", "stride");
  bad("global_pooling: true pad: 1", "stride 1 only", "pad");
  bad("kernel_size: 2 pad: 1 pad_l: 1", "together with padding for both sides", "pad_l");
  bad("kernel_size: 2 pad_b: 2", "pad 2 is not smaller", "pad");
  bad("global_pooling: true pad_b: 1", "stride 1 only", "pad");
  bad("kernel_size: 4 dilation: 3", "kernel_size 4 (10 with dilation 3) exceeds input height 7", "kernel_size");
  bad("kernel_size: 2 dilation: 0", "dilation is 0", "dilation");
  bad("global_pooling: true dilation: 2", "dilation 1 only", "dilation");
  bad("pool: STOCHASTIC kernel_size: 2 dilation: 2", "no dilation", "dilation");
  bad("kernel_size: 2 ceil_mode: false round_mode: CEIL", "contradict", "ceil_mode");
  bad("kernel_size_3d: 2 kernel_size_3d: 2 kernel_size_3d: 2", "for 2 spatial axes", "kernel_size_3d");
  expect_config_error(pooling("kernel_size: 2", {{3, 4}}), "one to three spatial axes");
}

}  // namespace
}  // namespace robusta::test::pooling_test
