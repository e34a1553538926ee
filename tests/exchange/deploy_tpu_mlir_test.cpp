// What TPU-MLIR's converter lacks: mended, or refused.
#include <gtest/gtest.h>

#include "exchange/deploy_rules_fixture.h"

namespace robusta::test::deploy_tpu_mlir_test {
namespace {

using namespace deploy_fixture;

Types mended(const std::string& text, const std::string& rule) { return mended_types(text, "tpu-mlir", rule); }

/// What deploy says to a net that TPU-MLIR cannot take; lint has to say it, too.
std::string refusal_of(const std::string& text) {
  const LintResult found = lint_text(text, "tpu-mlir");
  EXPECT_EQ(found.code, 9) << found.text;
  EXPECT_TRUE(contains(found.text, "[tpu-mlir-types; tpu-mlir]")) << found.text;
  Deployment deployment(text);
  deployment.options.target = "tpu-mlir";
  return error_of([&] { deployment.run(); }).what();
}

TEST(DeployTpuMlir, APowerIsAScale) {
  EXPECT_EQ(mended(kImage + layer("Power", "power_param { scale: 0.5 shift: 2 }"), "no-power"),
            (Types{"Input", "Scale"}));
  Deployment deployment(kImage + layer("Power", "power_param { scale: 3 }"));
  deployment.options.target = "tpu-mlir";
  deployment.run();
  EXPECT_FALSE(deployment.net().layer(1).scale_param().bias_term());
  const caffe::LayerParameter scale = deployment.model().layer(1);
  ASSERT_EQ(scale.blobs_size(), 1);
  EXPECT_EQ(scale.blobs(0).data_size(), deployment.net().layer(0).input_param().shape(0).dim(1));
  EXPECT_EQ(scale.blobs(0).data(0), 3);
}

TEST(DeployTpuMlir, APowerThatAnotherRulePutsInIsAScale) {
  EXPECT_EQ(mended(kImage + layer("Clip", "clip_param { min: -0.25 max: 0.5 }"), "no-clip"),
            (Types{"Input", "Scale", "ReLU6", "Scale"}));
  const std::string sum = kImage + layer("TanH", "") +
                          "layer { name: 'sum' type: 'Eltwise' bottom: 'data' bottom: 'it' top: 'sum'\n"
                          "  eltwise_param { coeff: 1 coeff: -0.5 } }\n";
  EXPECT_EQ(mended(sum, "no-coeff"), (Types{"Input", "TanH", "Scale", "Eltwise"}));
  EXPECT_EQ(mended(kImage + "layer { name: 's' type: 'Split' bottom: 'data' top: 'a' top: 'b' }\n", "no-split"),
            (Types{"Input", "Scale", "Scale"}));
}

TEST(DeployTpuMlir, GroupsOfADeconvolutionBecomeOne) {
  const auto text = [](const std::string& fields) {
    return input("dim: 2 dim: 6 dim: 5 dim: 4") +
           layer("Deconvolution", "convolution_param { kernel_size: 3 stride: 2 " + fields + " }");
  };
  EXPECT_EQ(mended(text("num_output: 4 group: 2"), "one-group"), (Types{"Input", "Deconvolution"}));
  EXPECT_EQ(mended(text("num_output: 12 group: 6"), "one-group"), (Types{"Input", "Deconvolution"}));
  EXPECT_EQ(lint_text(text("num_output: 6 group: 6"), "tpu-mlir").text, "");
  EXPECT_EQ(lint_text(text("num_output: 4"), "tpu-mlir").text, "");
}

TEST(DeployTpuMlir, AWindowAsLargeAsTheImageHasNoPadding) {
  const std::string padded = "kernel_h: 8 kernel_w: 9 stride: 1 pad: 2 }";
  EXPECT_EQ(mended(kImage + layer("Pooling", "pooling_param { pool: AVE " + padded), "padded-image"),
            (Types{"Input", "Convolution"}));
  const LintResult largest = lint_text(kImage + layer("Pooling", "pooling_param { pool: MAX " + padded), "tpu-mlir");
  EXPECT_EQ(largest.code, 9);
  EXPECT_TRUE(contains(largest.text, "padded-image"));
  const std::string whole = "kernel_h: 8 kernel_w: 9 stride: 1 }", smaller = "kernel_size: 8 stride: 1 pad: 2 }";
  for (const std::string& fields : {whole, smaller}) {
    EXPECT_EQ(lint_text(kImage + layer("Pooling", "pooling_param { " + fields), "tpu-mlir").text, "");
  }
}

TEST(DeployTpuMlir, WhatIsMendedForOthersToo) {
  EXPECT_EQ(mended(kImage + layer("Bias", ""), "bias-scale"), (Types{"Input", "Scale"}));
  EXPECT_EQ(mended(kImage + layer("Flatten", "flatten_param { axis: 2 }"), "whole-flatten"),
            (Types{"Input", "Reshape"}));
  EXPECT_EQ(mended(kImage + layer("Swish", ""), "no-swish"), (Types{"Input", "Sigmoid", "Eltwise"}));
  EXPECT_EQ(mended(kImage + layer("PReLU", "prelu_param { channel_shared: true }"), "channel-slopes"),
            (Types{"Input", "PReLU"}));
}

TEST(DeployTpuMlir, OtherTypesAndFormsAreRefused) {
  EXPECT_TRUE(contains(refusal_of(kImage + layer("MVN", "")), "TPU-MLIR has no layer of type MVN"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Power", "power_param { power: 2 }")), "no layer of type Power"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("LRN", "lrn_param { norm_region: WITHIN_CHANNEL }")),
                       "an LRN within channels"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Scale", "scale_param { axis: 2 }")), "other than the channels"));
  EXPECT_EQ(lint_text(kImage + layer("Scale", "scale_param { axis: -3 }"), "tpu-mlir").text, "");
  EXPECT_TRUE(contains(refusal_of(input("dim: 2 dim: 3 dim: 4") + layer("Scale", "")), "other than two or four axes"));
}

}  // namespace
}  // namespace robusta::test::deploy_tpu_mlir_test
