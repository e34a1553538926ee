#include <gtest/gtest.h>

#include <cmath>

#include "layers/backends/gpu/norm_forward.h"
#include "support/kernel_checks.h"
#include "support/log_lines.h"

namespace robusta::test::batch_norm_test {
namespace {

KernelCase batch_norm(const std::string& fields, const Shape& bottom = {3, 4, 3, 2},
                      caffe::Phase phase = caffe::TRAIN) {
  return {{"type: 'BatchNorm' batch_norm_param { " + fields + " }"}, {bottom}, phase};
}

const std::vector<KernelCase> kCases = {
    batch_norm(""),
    batch_norm("eps: 0.01 moving_average_fraction: 0.9"),
    batch_norm("use_global_stats: true"),
    batch_norm("use_global_stats: true eps: 0.3 add_eps_before_sqrt: false"),
    batch_norm("use_global_stats: false", {5, 4}, caffe::TEST),
    batch_norm("", {3, 4, 3, 2}, caffe::TEST),
    batch_norm("", {2, 3, 2, 3, 2}),
    batch_norm("", {4, 3, 5}),
    batch_norm("", {9}),
    batch_norm("scale_bias: true"),
    batch_norm("scale_bias: true use_global_stats: true"),
    batch_norm("filler { value: 2 } bias_filler { value: 1 }", {6, 3}),
};

TEST(BatchNormTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(BatchNormTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(BatchNormTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
  // Packs along planes, and across channels.
  for (const Shape& shape : {Shape{2, 3, 4, 4}, Shape{3, 24, 5, 5}, Shape{2, 8, 2, 4}}) {
    compare_gpu_with_reference(batch_norm("", shape));
    compare_gpu_with_reference(batch_norm("use_global_stats: true scale_bias: true", shape));
  }
}

TEST(BatchNormTest, GpuWithScaleAndRelu) {
  const std::string scale = "type: 'Scale' scale_param { bias_term: true }";
  const std::vector<std::vector<std::string>> tails{{"type: 'Scale'"},
                                                    {scale},
                                                    {"type: 'ReLU'"},
                                                    {scale, "type: 'ReLU'"},
                                                    {scale, "type: 'ReLU' relu_param { negative_slope: -0.5 }"}};
  for (const auto& tail : tails) {
    for (const char* fields : {"", "eps: 0.01 moving_average_fraction: 0.5", "use_global_stats: true"}) {
      for (const Shape& shape : {Shape{3, 4, 5, 2}, Shape{7, 5}, Shape{3, 16, 4, 6}}) {
        KernelCase chain = batch_norm(fields, shape);
        chain.layers.insert(chain.layers.end(), tail.begin(), tail.end());
        compare_gpu_with_reference(chain);
      }
    }
    KernelCase large = batch_norm("", {2, 2, 71, 83});  // planes in pieces
    large.layers.insert(large.layers.end(), tail.begin(), tail.end());
    compare_gpu_with_reference(large);
  }
}

TEST(BatchNormTest, GpuDeclinesOtherScales) {
  const auto why_not = [](const std::string& norm, const std::string& scale) {
    const KernelHarness harness({{"type: 'BatchNorm' batch_norm_param { " + norm + " }", scale}, {{2, 3, 4, 4}}},
                                {.backend = "gpu", .kind = "emulated", .dtype = DType::kF32});
    return harness.made() ? "" : harness.why_not();
  };
  EXPECT_NE(why_not("", "type: 'Scale' scale_param { axis: 0 num_axes: 2 }").find("by channel"), std::string::npos);
  EXPECT_NE(why_not("scale_bias: true", "type: 'Scale'").find("of its own"), std::string::npos);
}

/// This rank and one whose means are 0.5 and whose second moments (and sums of gradients) are 0.5 and 1.5.
class OtherRank : public StepReduce {
 public:
  int ranks() const override { return 2; }
  void sum(std::span<double> values) override {
    for (size_t i = 0; i < values.size(); ++i) values[i] += i < values.size() / 2 ? 0.5 : 1.5;
  }
};

TEST(BatchNormTest, GpuOverRanks) {
  OtherRank other;
  const KernelOptions how{.pass = {.ranks = &other}};
  for (const char* fields : {"sync: true", "sync: true scale_bias: true", ""}) {
    compare_gpu_with_reference(batch_norm(fields), 1e-5, how);
  }
}

TEST(BatchNormTest, GpuFarFromZero) {
  KernelCase what = batch_norm("", {4, 16, 9, 9});
  what.bottom_values = [](int, const Shape& s) {
    Array values(static_cast<size_t>(s.count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 300 + static_cast<double>(i % 97) / 64;
    return values;
  };
  compare_gpu_with_reference(what, 5e-5);  // as the native kernel: the mean is a float
}

/// Moments from f32 sums of x and x^2 (kit/result_sums.h): the variance is wrong by (1 + mean^2 / variance) times what
/// the sums are, and never less than their error.
TEST(BatchNormTest, GpuMomentsFromSums) {
  constexpr float kElements = 1 << 20;
  constexpr double kRounding = 1.0 / (1 << 24);
  for (const double mean : {0.0, 0.5, 3.0, 10.0, 30.0, 100.0}) {
    const float sums[] = {static_cast<float>(mean * kElements), static_cast<float>((mean * mean + 1) * kElements)};
    const NormFromSums from{{}, {}, sums, 1, 1 / kElements, nullptr};
    EXPECT_NEAR(from.mean(0), mean, mean * kRounding) << mean;
    EXPECT_NEAR(from.variance(0), 1, 3 * (1 + mean * mean) * kRounding) << mean;
  }
  for (const double wrong : {-20.0, 0.0, 0.5}) {  // of a channel that is 1000 throughout
    const float sums[] = {1000 * kElements, static_cast<float>((1e6 + wrong) * kElements)};
    const NormFromSums from{{}, {}, sums, 1, 1 / kElements, nullptr};
    EXPECT_DOUBLE_EQ(from.variance(0), 1e6 / (1 << 20)) << wrong;
  }
  const float nothing[] = {0, 0};
  EXPECT_EQ((NormFromSums{{}, {}, nothing, 1, 1 / kElements, nullptr}.variance(0)), 0);
}

TEST(BatchNormTest, KeepsStatisticsAsCaffe) {
  KernelHarness harness(batch_norm("moving_average_fraction: 0.5", {2, 1, 2}), {});
  harness.forward({{1, 2, 3, 6}}, {{10}, {20}, {4}});
  const Arrays after = harness.params();
  EXPECT_NEAR(after[0][0], 5 + 3, 1e-12);                       // mean 3
  EXPECT_NEAR(after[1][0], 10 + (4 + 1 + 0 + 9) / 3.0, 1e-12);  // unbiased variance
  EXPECT_NEAR(after[2][0], 2 + 1, 1e-12);
}

TEST(BatchNormTest, NoStatisticsYetMeansZeroMeanAndVariance) {
  KernelHarness harness(batch_norm("eps: 0.25", {1, 2}, caffe::TEST), {});
  harness.forward({{1, -3}}, {{5, 5}, {7, 7}, {0}});
  EXPECT_EQ(harness.tops()[0], (Array{2, -6}));
}

TEST(BatchNormTest, AddsEpsBehindTheRoot) {
  KernelHarness harness(batch_norm("eps: 0.5 add_eps_before_sqrt: false", {1, 2}, caffe::TEST), {});
  harness.forward({{4, -3}}, {{1, 0}, {4, 1}, {1}});
  EXPECT_NEAR(harness.tops()[0][0], 3 / 2.5, 1e-12);  // (4 - 1) / (sqrt(4) + 0.5)
  EXPECT_NEAR(harness.tops()[0][1], -3 / 1.5, 1e-12);
}

TEST(BatchNormTest, DeclaresParameters) {
  const KernelHarness three(batch_norm(""), {}), five(batch_norm("scale_bias: true"), {});
  ASSERT_EQ(three.param_decls().size(), 3u);
  for (const ParamDecl& decl : three.param_decls()) EXPECT_TRUE(decl.statistic);
  EXPECT_EQ(three.param_decls()[2].shape, (Shape{1}));
  ASSERT_EQ(five.param_decls().size(), 5u);
  EXPECT_FALSE(five.param_decls()[3].statistic);
  EXPECT_EQ(five.param_decls()[3].filler->value(), 1);
  EXPECT_EQ(five.param_decls()[4].filler->value(), 0);
}

TEST(BatchNormTest, RefusesBadFields) {
  EXPECT_THROW(KernelHarness(batch_norm("add_eps_before_sqrt: false"), {}), Error);  // of the batch
  expect_config_error(batch_norm("eps: -1"), "eps -1 is negative", "batch_norm_param.eps");
  expect_config_error({{"type: 'BatchNorm' param { lr_mult: 0 } param { lr_mult: 2 }"}, {{2, 3}}},
                      "lr_mult 2 for statistic 1", "param.lr_mult");
}

TEST(BatchNormTest, WarnsOfRatesThatNvidiasCaffeSetsToZero) {
  LogLines lines;
  const std::string param = "param { lr_mult: 1 } ";
  const KernelHarness five(
      {{"type: 'BatchNorm' " + param + "batch_norm_param { scale_filler { value: 1 } }"}, {{2, 3}}}, {});
  EXPECT_TRUE(five.param_decls()[0].statistic);
  EXPECT_NE(lines.text().find("lr_mult 1 for statistic 0 of a BatchNorm layer has no effect"), std::string::npos);
}

}  // namespace
}  // namespace robusta::test::batch_norm_test
