#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::prelu_test {
namespace {

const KernelCase kCases[] = {
    {{"type: 'PReLU'"}, {{2, 3, 4, 3}}},
    {{"type: 'PReLU'"}, {{4, 5}}},
    {{"type: 'PReLU' prelu_param { channel_shared: true }"}, {{2, 3, 4}}},
    {{"type: 'PReLU'"}, {{3, 7, 41, 39}}},
};

TEST(PreluTest, Gradients) {
  for (const KernelCase& c : kCases) {
    if (c.bottoms[0].count() < 1000) check_gradients(c);
  }
}

TEST(PreluTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(PreluTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
  compare_gpu_with_reference({{"type: 'PReLU' prelu_param { channel_shared: true }"}, {{3, 7, 41, 39}}});
  compare_gpu_with_reference({{"type: 'PReLU'"}, {{3, 16, 5, 3}}});  // packs across channels
}

TEST(PreluTest, SlopesStartAtAQuarter) {
  const KernelHarness own({{"type: 'PReLU'"}, {{2, 3}}}, {});
  EXPECT_EQ(own.param_decls()[0].shape, Shape{3});
  EXPECT_EQ(own.param_decls()[0].filler->value(), 0.25f);
  const KernelHarness given({{"type: 'PReLU' prelu_param { channel_shared: true filler { value: 0.1 } }"}, {{2, 3}}},
                            {});
  EXPECT_EQ(given.param_decls()[0].shape, Shape{});
  EXPECT_EQ(given.param_decls()[0].filler->value(), 0.1f);
}

TEST(PreluTest, WantsChannels) { expect_config_error({{"type: 'PReLU'"}, {{4}}}, "no channel axis", "bottom"); }

TEST(PreluTest, FillerIsChecked) {
  expect_config_error({{"type: 'PReLU' prelu_param { filler { type: 'zavier' } }"}, {{2, 3}}}, "zavier",
                      "prelu_param.filler.type");
}

TEST(PreluTest, ChannelsMayNotChange) {
  caffe::LayerParameter param = parse_layer("type: 'PReLU'");
  const auto layer = make_layer(param);
  layer->infer_tops({{2, 3, 4}});
  EXPECT_NO_THROW(layer->infer_tops({{5, 3, 9}}));
  EXPECT_THROW(layer->infer_tops({{2, 4, 4}}), Error);
}

}  // namespace
}  // namespace robusta::test::prelu_test
