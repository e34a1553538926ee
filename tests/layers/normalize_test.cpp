// Normalize and L2Norm.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::normalize_test {
namespace {

KernelCase normalize(const std::string& param, const Shape& bottom) {
  return {{"type: 'Normalize' norm_param { " + param + " }"}, {bottom}};
}

/// Those of caffe-windows.
KernelCase lengths(const std::string& param, const Shape& bottom) {
  return {{"type: 'Normalize' normalize_param { " + param + " }"}, {bottom}};
}

KernelCase l2_norm(const Shape& bottom) { return {{"type: 'L2Norm'"}, {bottom}}; }

const KernelCase kCases[] = {
    normalize("", {2, 3, 4, 5}),
    normalize("channel_shared: false", {2, 3, 4}),
    normalize("across_spatial: false channel_shared: false", {2, 8, 3, 5}),
    normalize("across_spatial: false eps: 0.5", {2, 3, 4, 2}),
    normalize("across_spatial: false", {4, 5}),
    normalize("channel_shared: false eps: 0", {1, 2, 300}),
    lengths("", {2, 8, 3, 5}),
    lengths("normalize_type: 'L2'", {4, 5}),
    l2_norm({2, 3, 4}),
    l2_norm({3, 5}),
    l2_norm({2}),
};

TEST(NormalizeTest, DividesByTheLength) {
  KernelHarness pixels(normalize("across_spatial: false channel_shared: false eps: 0", {1, 2, 2}), {});
  pixels.forward({{3, 0, 4, 5}}, {{10, 100}});
  expect_near(pixels.tops()[0], {6, 0, 80, 100}, 1e-12, "pixels");
  KernelHarness samples(normalize("eps: 0", {1, 2, 1}), {});
  samples.forward({{3, 4}}, {{5}});
  expect_near(samples.tops()[0], {3, 4}, 1e-12, "samples");
}

TEST(NormalizeTest, LengthsHaveNoScale) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(lengths("", {1, 2, 2}), {.backend = backend, .dtype = DType::kF32});
    EXPECT_TRUE(harness.param_decls().empty());
    harness.forward({{3, 0, 4, 5}});
    expect_near(harness.tops()[0], {0.6, 0, 0.8, 1}, 1e-6, backend);
    harness.forward({{0.003, 0, 0, 0}});  // eps is 1e-6
    expect_near(harness.tops()[0], {0.9486833, 0, 0, 0}, 1e-6, backend);
  }
}

TEST(NormalizeTest, LearnsAScaleOfOne) {
  const KernelHarness shared(normalize("", {2, 3, 4}), {}), each(normalize("channel_shared: false", {2, 3, 4}), {});
  EXPECT_EQ(shared.param_decls()[0].shape, Shape{});
  EXPECT_EQ(each.param_decls()[0].shape, Shape{3});
  EXPECT_EQ(each.param_decls()[0].filler->value(), 1);
  const KernelHarness given(normalize("scale_filler { value: 20 }", {2, 3, 4}), {});
  EXPECT_EQ(given.param_decls()[0].filler->value(), 20);
}

TEST(NormalizeTest, ZerosStayZero) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(l2_norm({1, 2}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{0, 0}});
    harness.backward({{1, 2}});
    EXPECT_EQ(harness.tops()[0], (Array{0, 0})) << backend;
    EXPECT_EQ(harness.bottom_diffs()[0], (Array{0, 0})) << backend;
  }
}

TEST(NormalizeTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(NormalizeTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(NormalizeTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(NormalizeTest, Errors) {
  expect_config_error(normalize("eps: -1", {2, 3, 4}), "eps -1", "norm_param.eps");
  expect_config_error(normalize("", {3}), "takes an input of batch, channels");
  expect_config_error(normalize("scale_filler { type: 'nothing' }", {2, 3}), "", "norm_param.scale_filler.type");
  expect_config_error(lengths("across_spatial: false", {2, 3}), "different layers", "normalize_param");
  expect_config_error({{"type: 'Normalize' norm_param { } normalize_param { }"}, {{2, 3}}}, "different layers",
                      "normalize_param");
  EXPECT_THROW(KernelHarness(lengths("normalize_type: 'L1'", {2, 3}), {}), Error);
  EXPECT_THROW(KernelHarness(lengths("fix_gradient: true", {2, 3}), {}), Error);
}

}  // namespace
}  // namespace robusta::test::normalize_test
