// The native batch normalisation against the reference, with what may be fused to it.

#include <gtest/gtest.h>

#include "layers/backends/onednn/layout.h"
#include "support/kernel_checks.h"

namespace robusta::test::native_batch_norm_test {
namespace {

std::vector<std::vector<std::string>> chains() {
  const std::string scale = "type: 'Scale' scale_param { bias_term: true }";
  return {{},
          {"type: 'Scale'"},
          {scale},
          {"type: 'ReLU'"},
          {scale, "type: 'ReLU'"},
          {scale, "type: 'ReLU' relu_param { negative_slope: -0.5 }"}};
}

Layout blocked(const Shape& shape, int block) {
  return onednn::layout_of(onednn::blocked_desc(onednn::dims_of(shape), block));
}

TEST(NativeBatchNorm, MatchesReference) {
  for (const auto& rest : chains()) {
    for (const char* param : {"", "eps: 0.01 moving_average_fraction: 0.5", "use_global_stats: true",
                              "use_global_stats: true eps: 0.3 add_eps_before_sqrt: false"}) {
      std::vector<std::string> layers{std::string("type: 'BatchNorm' batch_norm_param { ") + param + " }"};
      layers.insert(layers.end(), rest.begin(), rest.end());
      for (const Shape& shape : {Shape{3, 20, 5, 7}, Shape{2, 48, 17, 19}}) {
        for (int block : {8, 16}) {
          compare_with_reference("native", {layers, {shape}}, 1e-5, {.bottom_layouts = {blocked(shape, block)}});
        }
      }
    }
  }
}

TEST(NativeBatchNorm, FarFromZero) {
  const Shape shape{4, 16, 9, 9};
  KernelCase what{{"type: 'BatchNorm'"}, {shape}};
  what.bottom_values = [](int, const Shape& s) {
    Array values(static_cast<size_t>(s.count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 300 + static_cast<double>(i % 97) / 64;
    return values;
  };
  // Inputs of 300 are known to 3e-5 in f32, but these are exact multiples of 1/64, and so are their differences.
  compare_with_reference("native", what, 5e-5, {.bottom_layouts = {blocked(shape, 16)}});
}

TEST(NativeBatchNorm, Declines) {
  const Shape shape{2, 16, 4, 4};
  expect_declined("native", {{"type: 'BatchNorm'"}, {shape}}, "blocks");
  const std::string by_sample = "type: 'Scale' scale_param { axis: 0 num_axes: 2 }";
  const KernelHarness harness({{"type: 'BatchNorm'", by_sample}, {shape}},
                              {.backend = "native", .dtype = DType::kF32, .bottom_layouts = {blocked(shape, 16)}});
  EXPECT_NE(harness.why_not().find("by channel"), std::string::npos) << harness.why_not();
}

}  // namespace
}  // namespace robusta::test::native_batch_norm_test
