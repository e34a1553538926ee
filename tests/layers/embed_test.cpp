// Embed.

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::embed_test {
namespace {

KernelCase embed(const std::string& param, const Shape& bottom, int64_t ids) {
  KernelCase what{{"type: 'Embed' embed_param { " + param + " }"}, {bottom}};
  what.bottom_values = [ids](int, const Shape& shape) {
    Array values;
    for (int64_t i = 0; i < shape.count(); ++i) values.push_back(static_cast<double>(i * i % ids));
    return values;
  };
  return what;
}

const KernelCase kEmbeds[] = {
    embed("num_output: 4 input_dim: 6", {3, 2}, 6),
    embed("num_output: 3 input_dim: 6 bias_term: false", {3, 2}, 6),
    embed("num_output: 1 input_dim: 3", {5, 1, 2}, 2),
    embed("num_output: 16 input_dim: 2000", {40, 10}, 2000),
};

TEST(EmbedTest, Shape) {
  EXPECT_EQ(KernelHarness(kEmbeds[0], {}).top_shapes()[0], (Shape{3, 2, 4}));
  EXPECT_FALSE(KernelHarness(kEmbeds[0], {}).wants_bottom(0));
}

TEST(EmbedTest, RowsOfTheWeights) {
  KernelHarness harness(embed("num_output: 2 input_dim: 3", {2}, 3), {});
  harness.forward({{2, 0}}, {{1, 2, 3, 4, 5, 6}, {10, 20}});
  EXPECT_EQ(harness.tops()[0], (Array{15, 26, 11, 22}));
}

TEST(EmbedTest, Gradients) {
  for (const KernelCase& c : kEmbeds) {
    if (c.bottoms[0].count() < 100) check_gradients(c);
  }
}

TEST(EmbedTest, SinglePrecision) {
  for (const KernelCase& c : kEmbeds) compare_with_reference("reference", c);
}

TEST(EmbedTest, Gpu) {
  for (const KernelCase& c : kEmbeds) compare_gpu_with_reference(c);
}

TEST(EmbedTest, IdOutOfRange) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(kEmbeds[0], {.backend = backend, .dtype = DType::kF32});
    const Error error = error_of([&] { harness.forward({{0, 1, 6, 2, -1, 0}}, {Array(24, 1.0), Array(4, 0.0)}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
    EXPECT_EQ(error.cause(), "index 6 at place 2 is out of range 0..5") << backend;
    EXPECT_TRUE(contains(error.fix(), "raise embed_param.input_dim")) << backend;
  }
}

TEST(EmbedTest, Errors) {
  expect_config_error(embed("input_dim: 3", {2}, 3), "no num_output", "embed_param.num_output");
  expect_config_error(embed("num_output: 0 input_dim: 3", {2}, 3), "num_output is 0", "embed_param.num_output");
  expect_config_error(embed("num_output: 3", {2}, 3), "no input_dim", "embed_param.input_dim");
  expect_config_error(embed("num_output: 4294967295 input_dim: 4294967295", {2}, 3), "impossible shape");
}

}  // namespace
}  // namespace robusta::test::embed_test
