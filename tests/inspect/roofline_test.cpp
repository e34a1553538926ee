// Shares of what a processor allows, from times and work that are given.

#include "inspect/roofline.h"

#include <gtest/gtest.h>

#include <sstream>

#include "net/net.h"
#include "support/nets.h"

namespace robusta::test::roofline_test {
namespace {

/// 100 GFLOP/s in f32, 400 in bf16, 10 GB/s.
constexpr ProcessorPeaks kPeaks{.f32 = 100e9, .amx_bf16 = 400e9, .memory = 10e9};

TEST(Roofline, TheLongerTimeBinds) {
  const std::vector<LayerTime> times{{"conv", 40, 0}, {"relu", 4, 8}};  // of two passes
  const std::vector<LayerWork> work{{.forward = {1e9, 10e6}, .backward = {}},
                                    {.forward = {1e6, 10e6}, .backward = {1e6, 30e6}}};
  const std::vector<RooflineRow> rows = roofline(times, work, 2, kPeaks);
  ASSERT_EQ(rows.size(), 3u) << "passes that take no time have no row";
  EXPECT_TRUE(rows[0].by_arithmetic);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.020);
  EXPECT_DOUBLE_EQ(rows[0].bound, 0.010);
  EXPECT_DOUBLE_EQ(rows[0].share(), 0.5);
  EXPECT_FALSE(rows[1].by_arithmetic);
  EXPECT_DOUBLE_EQ(rows[1].share(), 0.5);
  EXPECT_TRUE(rows[2].backward);
  EXPECT_DOUBLE_EQ(rows[2].share(), 0.75);
}

TEST(Roofline, SixteenBitsHaveARoofOfTheirOwn) {
  const std::vector<LayerTime> times{{"conv", 10, 0}};
  std::vector<LayerWork> work{{.forward = {1e9, 1e3}, .backward = {}, .storage = DType::kBF16}};
  EXPECT_DOUBLE_EQ(roofline(times, work, 1, kPeaks)[0].bound, 1e9 / 400e9);
  EXPECT_DOUBLE_EQ(roofline(times, work, 1, {.f32 = 100e9})[0].bound, 1e9 / 100e9);
}

TEST(Roofline, Table) {
  std::ostringstream out;
  print_roofline(
      out,
      roofline({{"conv", 20, 0}, {"relu", 2, 4}},
               {{.forward = {1e9, 10e6}, .backward = {}}, {.forward = {0, 10e6}, .backward = {0, 30e6}}}, 1, kPeaks),
      kPeaks);
  EXPECT_EQ(out.str(), R"(Roofline: f32 100.0 GFLOP/s, AMX 400.0 GFLOP/s, memory 10.0 GB/s
layer  pass      ms      of all  GFLOP/s  GB/s  bound by    share
conv   forward   20.000  76.9 %  50.0     0.5   arithmetic  0.50
relu   forward   2.000   7.7 %   0.0      5.0   memory      0.50
relu   backward  4.000   15.4 %  0.0      7.5   memory      0.75
bound by arithmetic: 20.000 ms, bound 10.000 ms, share 0.50
bound by memory: 6.000 ms, bound 4.000 ms, share 0.67
all layers: 26.000 ms, bound 14.000 ms, share 0.54
)");
}

/// A product of 4 x 3 by 3 x 5 and its bias, and what they read and write.
TEST(Roofline, WorkOfALayer) {
  NetOptions options;
  options.backward = false;
  const Net net(net_def(R"(
    layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 3 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: 5 } })"),
                options);
  const std::vector<LayerWork> work = net.diagnostics().layer_work();
  ASSERT_EQ(work.size(), net.diagnostics().layer_times().size());
  EXPECT_EQ(work[1].forward.flops, 2 * 4 * 3 * 5 + 4 * 5);
  EXPECT_GE(work[1].forward.bytes, 4.0 * (4 * 3 + 3 * 5 + 5 + 4 * 5));
  EXPECT_EQ(work[1].backward.bytes, 0);
}

TEST(Peaks, AreMeasured) {
  const ProcessorPeaks peaks = measure_peaks(0.01);
  EXPECT_GT(peaks.f32, 1e8);
  EXPECT_GT(peaks.memory, 1e8);
  EXPECT_EQ(peaks.bf16(), std::max(peaks.avx512_bf16, peaks.amx_bf16));
}

}  // namespace
}  // namespace robusta::test::roofline_test
