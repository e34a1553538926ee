// Kernels of the host that store bf16, against the reference: channels last, as convolutions leave them, and plain
// where a kernel takes any layout.

#include <gtest/gtest.h>

#include "base/str.h"
#include "layers/backends/onednn/layout.h"
#include "layers/types/convolution/convolution_types.h"
#include "support/convolution_cases.h"
#include "support/kernel_checks.h"

namespace robusta::test::host_bf16_test {
namespace {

constexpr double kRounding = 0x1p-8;  ///< of the largest value, when it is stored

Layout channels_last(const Shape& shape) {
  return onednn::layout_of(onednn::channels_last_desc(onednn::dims_of(shape)));
}

/// Within `roundings` of the reference, from bottoms with channels last.
void compare(const std::string& backend, const KernelCase& what, double roundings = 2) {
  KernelOptions how{.dtype = DType::kBF16};
  for (const Shape& shape : what.bottoms) how.bottom_layouts.push_back(channels_last(shape));
  compare_with_reference(backend, what, roundings * kRounding, how);
}

void compare_plain(const std::string& backend, const KernelCase& what) {
  compare_with_reference(backend, what, 2 * kRounding, {.dtype = DType::kBF16});
}

TEST(HostBf16, Convolution) {
  if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  for (const char* fields : {"num_output: 32 kernel_size: 3 pad: 1", "num_output: 48 kernel_size: 1 stride: 2",
                             "num_output: 16 kernel_size: 5 stride: 2 pad: 2 bias_term: false",
                             "num_output: 32 kernel_size: 3 pad: 1 group: 2", "num_output: 20 kernel_size: 3",
                             "num_output: 32 kernel_size: 3 dilation: 2 pad: 2"}) {
    compare("onednn", {{convolution_text(fields)}, {{2, 32, 9, 7}}}, 4);
  }
  compare("onednn", {{convolution_text("num_output: 24 kernel_size: 7 stride: 2 pad: 3")}, {{2, 3, 20, 18}}}, 4);
  compare("onednn", {{convolution_text("num_output: 32 kernel_size: 3 group: 32 pad: 1")}, {{2, 32, 9, 7}}}, 4);
}

/// With a slope near 1, so that it matters little on which side of zero a rounded sum lies.
TEST(HostBf16, ConvolutionWithRelu) {
  if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  compare(
      "onednn",
      {{convolution_text("num_output: 32 kernel_size: 3 pad: 1"), "type: 'ReLU' relu_param { negative_slope: 0.9 }"},
       {{2, 32, 9, 7}}},
      6);
}

TEST(HostBf16, BatchNorm) {
  const std::string scale = "type: 'Scale' scale_param { bias_term: true }", relu = "type: 'ReLU'";
  for (const char* param : {"", "eps: 0.01 moving_average_fraction: 0.5", "use_global_stats: true"}) {
    const std::string norm = str("type: 'BatchNorm' batch_norm_param { ", param, " }");
    for (const auto& layers : std::vector<std::vector<std::string>>{{norm}, {norm, relu}, {norm, scale, relu}}) {
      // The last has more channels than are worked on together.
      for (const Shape& shape : {Shape{3, 16, 5, 7}, Shape{2, 48, 17, 19}, Shape{2, 528, 3, 3}}) {
        compare("native", {layers, {shape}}, 4);
      }
    }
  }
}

TEST(HostBf16, BatchNormDeclinesOddChannels) {
  const Shape shape{2, 20, 3, 3};
  const KernelHarness harness({{"type: 'BatchNorm'"}, {shape}},
                              {.backend = "native", .dtype = DType::kBF16, .bottom_layouts = {channels_last(shape)}});
  EXPECT_NE(harness.why_not().find("multiple of 16"), std::string::npos) << harness.why_not();
}

TEST(HostBf16, Lrn) {
  const auto lrn = [](const char* fields) { return str("type: 'LRN' lrn_param { beta: 0.75 ", fields, " }"); };
  compare("native", {{lrn("local_size: 5 alpha: 0.0001")}, {{2, 64, 5, 7}}}, 3);
  compare("native", {{lrn("local_size: 5 alpha: 2")}, {{1, 48, 3, 3}}}, 3);
  compare("native", {{lrn("local_size: 3 alpha: 1 k: 2")}, {{3, 16, 2, 7}}}, 3);
  compare_plain("native", {{lrn("local_size: 9 alpha: 0.5")}, {{1, 32, 1, 17}}});
  const KernelHarness odd({{lrn("alpha: 1")}, {{2, 20, 3, 3}}}, {.backend = "native", .dtype = DType::kBF16});
  EXPECT_NE(odd.why_not().find("multiple of 16"), std::string::npos) << odd.why_not();
}

TEST(HostBf16, Pooling) {
  for (const char* pool : {"MAX", "AVE"}) {
    for (const char* window : {"kernel_size: 3 stride: 2", "kernel_size: 3 stride: 1 pad: 1", "global_pooling: true"}) {
      const std::string text = str("type: 'Pooling' pooling_param { pool: ", pool, " ", window, " }");
      compare("native", {{text}, {{2, 37, 9, 7}}});
      compare_plain("native", {{text}, {{2, 5, 8, 9}}});
    }
  }
}

TEST(HostBf16, Sums) {
  const std::vector<Shape> two(2, {2, 7, 5, 3}), three(3, {2, 7, 5, 3});
  for (const char* text : {"type: 'Eltwise'", "type: 'Eltwise' eltwise_param { coeff: 0.5 coeff: -2 coeff: 3 }"}) {
    if (std::string(text).find("coeff") == std::string::npos) compare("native", {{text}, two});
    compare("native", {{text}, three});
    compare_plain("native", {{text}, three});
  }
  compare("native", {{"type: 'Eltwise'", "type: 'ReLU'"}, two});
  for (const int tops : {2, 3}) {
    KernelCase split{{"type: 'Split'"}, {{2, 7, 5, 3}}};
    split.tops = tops;
    compare("native", split);
  }
}

TEST(HostBf16, ConcatAndSlice) {
  compare("onednn", {{"type: 'Concat'"}, {{2, 5, 3, 4}, {2, 48, 3, 4}, {2, 1, 3, 4}}});
  KernelCase slice{{"type: 'Slice' slice_param { slice_point: 16 slice_point: 61 }"}, {{2, 96, 3, 2}}};
  slice.tops = 3;
  compare("onednn", slice);
}

/// It takes pooling's kernels, which do store bf16.
TEST(HostBf16, SppIsInF32) {
  const std::string text = "type: 'SPP' spp_param { pyramid_height: 2 pool: MAX }";
  const KernelHarness harness({{text}, {{2, 16, 8, 8}}}, {.backend = "native", .dtype = DType::kBF16});
  EXPECT_NE(harness.why_not().find("computes in f32"), std::string::npos) << harness.why_not();
}

TEST(HostBf16, FunctionsOfElements) {
  for (const char* type : {"ReLU", "Sigmoid", "TanH", "ELU", "AbsVal", "Swish"}) {
    compare("native", {{str("type: '", type, "'")}, {{2, 7, 5, 3}}}, 4);
    compare_plain("native", {{str("type: '", type, "'")}, {{3, 11}}});
  }
}

}  // namespace
}  // namespace robusta::test::host_bf16_test
