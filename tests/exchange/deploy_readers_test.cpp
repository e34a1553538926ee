// Rules for what a reader does not take: mended where something else computes the same, else refused at the line.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/deploy_rules_fixture.h"

namespace robusta::test::deploy_readers_test {
namespace {

using namespace deploy_fixture;

/// What deploy says to a net that the target cannot take.
Error refusal_of(const std::string& text, const std::string& target) {
  EXPECT_EQ(lint_text(text, target).code, 9);
  Deployment deployment(text);
  deployment.options.target = target;
  return error_of([&] { deployment.run(); });
}

TEST(DeployReaders, ABiasIsAScale) {
  EXPECT_EQ(mended_types(kImage + layer("Bias", "bias_param { axis: 1 num_axes: 2 }"), "opencv", "bias-scale"),
            (Types{"Input", "Scale"}));
  EXPECT_EQ(mended_types(kImage + layer("Bias", "bias_param { axis: 0 num_axes: 0 }"), "opencv", "bias-scale"),
            (Types{"Input", "Scale"}));
  const std::string two = kImage + input("dim: 2 dim: 3 dim: 8 dim: 9", "b");
  EXPECT_EQ(
      mended_types(two + layer("Bias", "bias_param { axis: 0 }", "bottom: 'data' bottom: 'b'"), "opencv", "bias-scale"),
      (Types{"Input", "Input", "Eltwise"}));
}

TEST(DeployReaders, TheBiasOfAScaleOfTwoBottomsIsAddedBehindIt) {
  const std::string text = kImage + input("dim: 3 dim: 8", "b") +
                           layer("Scale", "scale_param { bias_term: true }", "bottom: 'data' bottom: 'b'");
  EXPECT_EQ(mended_types(text, "opencv", "scale-alone"), (Types{"Input", "Input", "Scale", "Scale"}));
}

TEST(DeployReaders, OneFactorIsRepeatedForEachChannel) {
  const std::string scale = kImage + layer("Scale", "scale_param { axis: 0 num_axes: 0 bias_term: true }");
  EXPECT_EQ(mended_types(scale, "opencv", "channel-scale"), (Types{"Input", "Scale"}));
  EXPECT_EQ(mended_types(kImage + layer("PReLU", "prelu_param { channel_shared: true }"), "opencv", "channel-slopes"),
            (Types{"Input", "PReLU"}));
  Deployment deployment(scale);
  deployment.options.target = "opencv";
  deployment.run();
  EXPECT_EQ(deployment.model().layer(1).blobs(0).data_size(), 3);
}

TEST(DeployReaders, FieldsOfLrnAreSaid) {
  const std::string text = kImage + layer("LRN", "lrn_param { local_size: 3 }");
  EXPECT_EQ(mended_types(text, "opencv", "lrn-fields"), (Types{"Input", "LRN"}));
  Deployment deployment(text);
  deployment.options.target = "opencv";
  deployment.run();
  const caffe::LRNParameter lrn = deployment.net().layer(1).lrn_param();
  EXPECT_TRUE(lrn.has_alpha() && lrn.has_beta());
  EXPECT_EQ(lrn.alpha(), 1);
}

TEST(DeployReaders, LogOfAnotherBase) {
  const std::string positive = kImage + "layer { name: 'e' type: 'Exp' bottom: 'data' top: 'e' }\n";
  EXPECT_EQ(mended_types(positive + layer("Log", "log_param { base: 10 scale: 2 shift: 0.5 }", "bottom: 'e'"), "opencv",
                         "plain-log"),
            (Types{"Input", "Exp", "Power", "Log", "Power"}));
}

TEST(DeployReaders, SwishOfAnotherBeta) {
  EXPECT_EQ(mended_types(kImage + layer("Swish", "swish_param { beta: -1.5 }"), "opencv", "swish-beta"),
            (Types{"Input", "Power", "Sigmoid", "Eltwise"}));
}

TEST(DeployReaders, ASwishThatMnnLacks) {
  EXPECT_EQ(mended_types(kImage + layer("Swish", ""), "mnn", "no-swish"), (Types{"Input", "Sigmoid", "Eltwise"}));
}

TEST(DeployReaders, ATileIsAConcatOfItself) {
  const std::string text = kImage + layer("Tile", "tile_param { axis: -2 tiles: 3 }");
  EXPECT_EQ(mended_types(text, "opencv", "tile-concat"), (Types{"Input", "Concat"}));
  Deployment deployment(text);
  deployment.options.target = "opencv";
  deployment.run();
  EXPECT_EQ(deployment.net().layer(1).bottom_size(), 3);
  EXPECT_EQ(deployment.net().layer(1).concat_param().axis(), 2);
  EXPECT_EQ(refusal_of(kImage + layer("Tile", "tile_param { tiles: 65 }"), "opencv").kind(), ErrorKind::kUnsupported);
}

TEST(DeployReaders, ASplitIntoOutputsIsAnIdentityForEach) {
  const std::string text = kImage + "layer { name: 'both' type: 'Split' bottom: 'data' top: 'a' top: 'b' }\n";
  EXPECT_EQ(mended_types(text, "opencv", "no-split"), (Types{"Input", "Power", "Power"}));
}

TEST(DeployReaders, ATileOfOneIsAnIdentity) {
  EXPECT_EQ(mended_types(kImage + layer("Tile", "tile_param { tiles: 1 }"), "mnn", "tile-concat"),
            (Types{"Input", "Power"}));
}

TEST(DeployReaders, ACropToWhatIsComputedIsWarnedOf) {
  const std::string small =
      "layer { name: 'b' type: 'Pooling' bottom: 'data' top: 'b' pooling_param { kernel_size: 3 } }\n";
  const std::string crop = layer("Crop", "crop_param { offset: 0 }", "bottom: 'data' bottom: 'b'");
  const LintResult found = lint_text(kImage + small + crop, "rknn");
  EXPECT_TRUE(contains(found.text, "crop-input")) << found.text;
  EXPECT_EQ(found.code, 0) << "a warning";
  EXPECT_EQ(lint_text(kImage + input("dim: 2 dim: 3 dim: 4 dim: 5", "b") + crop, "rknn").text, "");
}

TEST(DeployReaders, ACropSaysItsOffset) {
  const std::string text =
      kImage + input("dim: 2 dim: 3 dim: 4 dim: 5", "b") + layer("Crop", "", "bottom: 'data' bottom: 'b'");
  EXPECT_EQ(mended_types(text, "mnn", "crop-offset"), (Types{"Input", "Input", "Crop"}));
}

TEST(DeployReaders, AxesAreCountedFromTheFirst) {
  EXPECT_EQ(mended_types(kImage + layer("Scale", "scale_param { axis: -2 num_axes: 2 }"), "opencv", "counted-axes"),
            (Types{"Input", "Scale"}));
  EXPECT_EQ(mended_types(kImage + layer("Softmax", "softmax_param { axis: -1 }"), "opencv", "counted-axes"),
            (Types{"Input", "Softmax"}));
}

TEST(DeployReaders, AConvolutionOverThreeAxesSaysEach) {
  const std::string volume = input("dim: 2 dim: 2 dim: 4 dim: 5 dim: 4");
  const std::string text =
      volume + layer("Convolution", "convolution_param { num_output: 2 kernel_size: 3 pad: 1 stride: 2 }");
  EXPECT_EQ(mended_types(text, "opencv", "kernel-axes"), (Types{"Input", "Convolution"}));
}

TEST(DeployReaders, TypesThatOpenCvLacksAreRefusedAtTheirLine) {
  const Error error = refusal_of(kImage + layer("SPP", "spp_param { pyramid_height: 2 }"), "opencv");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "net.prototxt:2: layer \"it\": OpenCV has no layer of type SPP")) << error.what();
  EXPECT_TRUE(contains(error.fix(), "caffe export -onnx")) << error.fix();
}

TEST(DeployReaders, FormsThatOpenCvLacksAreRefused) {
  const std::string volume = input("dim: 2 dim: 2 dim: 4 dim: 5 dim: 4");
  const std::string fields = "convolution_param { num_output: 2 kernel_size: 3 }";
  EXPECT_TRUE(contains(refusal_of(volume + layer("Deconvolution", fields), "opencv").what(), "other than images"));
  const std::string along = "convolution_param { num_output: 2 kernel_size: 3 axis: 2 }";
  EXPECT_TRUE(contains(refusal_of(volume + layer("Convolution", along), "opencv").what(), "channels are not axis 1"));
}

TEST(DeployReaders, FormsThatMnnLacksAreRefused) {
  const auto cause = [](const std::string& text) { return std::string(refusal_of(text, "mnn").what()); };
  EXPECT_TRUE(contains(cause(kImage + layer("Scale", "scale_param { axis: 2 }")), "other than the channels"));
  const std::string pool = layer("Pooling", "pooling_param { kernel_size: 2 stride: 2 pad: 1 }");
  EXPECT_TRUE(contains(cause(input("dim: 1 dim: 2 dim: 7 dim: 7") + pool), "would begin in the padding"));
  EXPECT_EQ(lint_text(input("dim: 1 dim: 2 dim: 8 dim: 8") + pool, "mnn").code, 0);
  EXPECT_TRUE(contains(cause(kImage + layer("ArgMax", "")), "MNN has no layer of type ArgMax"));
}

TEST(DeployReaders, AFlattenOfSomeAxesIsAReshape) {
  const std::string text = kImage + layer("Flatten", "flatten_param { end_axis: 2 }");
  for (const char* reader : {"mnn", "ncnn", "rknn"}) {
    EXPECT_EQ(mended_types(text, reader, "whole-flatten"), (Types{"Input", "Reshape"})) << reader;
  }
  Deployment deployment(text);
  deployment.options.target = "mnn";
  deployment.run();
  const auto& dims = deployment.net().layer(1).reshape_param().shape().dim();
  EXPECT_EQ(std::vector<int64_t>(dims.begin(), dims.end()), (std::vector<int64_t>{0, 24, 9}));
  EXPECT_EQ(lint_text(kImage + layer("Flatten", "flatten_param { end_axis: 3 }"), "mnn").text, "");
}

TEST(DeployReaders, AClipIsAReLU6) {
  const auto types = [](const char* range) {
    return mended_types(kImage + layer("Clip", std::string("clip_param { ") + range + " }"), "opencv", "no-clip");
  };
  EXPECT_EQ(types("min: 0 max: 6"), (Types{"Input", "ReLU6"}));
  EXPECT_EQ(types("min: -0.25 max: 0.5"), (Types{"Input", "Power", "ReLU6", "Power"}));
  EXPECT_EQ(types("min: 0 max: 0.5"), (Types{"Input", "Power", "ReLU6", "Power"}));
  EXPECT_EQ(types("min: 0 max: 3.4028235e38"), (Types{"Input", "ReLU"}));
  EXPECT_EQ(types("min: 0.25 max: 1e38"), (Types{"Input", "Power", "ReLU", "Power"}));
  EXPECT_EQ(types("min: -1e38 max: 0.25"), (Types{"Input", "Power", "ReLU", "Power"}));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Clip", "clip_param { min: 1 max: 1 }"), "opencv").what(),
                       "a Clip from 1 to 1"));
}

TEST(DeployReaders, GatesAreSpreadOverThePixels) {
  const std::string text =
      kImage + input("dim: 2 dim: 3", "b") + layer("Scale", "scale_param { axis: 0 }", "bottom: 'data' bottom: 'b'");
  EXPECT_EQ(mended_types(text, "mnn", "gate-product"),
            (Types{"Input", "Input", "Reshape", "Deconvolution", "Eltwise"}));
  const std::string rows =
      kImage + input("dim: 8", "b") + layer("Scale", "scale_param { axis: 2 }", "bottom: 'data' bottom: 'b'");
  EXPECT_TRUE(contains(refusal_of(rows, "mnn").what(), "a Scale of two bottoms"));
}

TEST(DeployReaders, SumsOfThreeAreSumsOfTwo) {
  const std::string text = kImage + layer("Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 coeff: 2 coeff: 1 }",
                                          "bottom: 'data' bottom: 'data' bottom: 'data' bottom: 'data'");
  EXPECT_EQ(mended_types(text, "rknn", "two-bottoms"),
            (Types{"Input", "Power", "Power", "Eltwise", "Eltwise", "Eltwise"}));
  std::string many;
  for (int bottom = 0; bottom < 65; ++bottom) many += "bottom: 'data' ";
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Eltwise", "", many), "rknn").what(), "more than 64 bottoms"));
}

TEST(DeployReaders, FormsThatRknnLacksAreRefused) {
  const auto cause = [](const std::string& text) { return std::string(refusal_of(text, "rknn").what()); };
  EXPECT_TRUE(contains(cause(kImage + layer("MVN", "")), "RKNN has no layer of type MVN"));
  const std::string bias = layer("Bias", "bias_param { axis: 2 }", "bottom: 'data' bottom: 'b'");
  EXPECT_TRUE(contains(cause(kImage + input("dim: 8", "b") + bias), "RKNN has no layer of type Bias"));
  EXPECT_TRUE(contains(cause(kImage + layer("LRN", "lrn_param { norm_region: WITHIN_CHANNEL }")), "within channels"));
  EXPECT_TRUE(contains(cause(kImage + layer("Power", "power_param { scale: 0 shift: 2 }")), "a Power of scale 0"));
  EXPECT_TRUE(contains(cause(kImage + layer("InnerProduct", "inner_product_param { num_output: 2 axis: 0 }")),
                       "along the samples"));
  EXPECT_TRUE(contains(cause(kImage + layer("Pooling", "pooling_param { kernel_size: 2 stride: 3 }")), "larger than"));
  EXPECT_TRUE(contains(cause(kImage + layer("ArgMax", "")), "an ArgMax without an axis"));
  EXPECT_EQ(lint_text(kImage + layer("ArgMax", "argmax_param { axis: 1 }"), "rknn").text, "");
  const std::string windows = "convolution_param { num_output: 2 kernel_size: 3 stride_h: 1 stride_w: ";
  EXPECT_TRUE(contains(cause(kImage + layer("Deconvolution", windows + "1 }")), "of stride 1"));
  EXPECT_EQ(lint_text(kImage + layer("Deconvolution", windows + "2 }"), "rknn").text, "");
}

TEST(DeployReaders, ConcatSaysItsAxisByItsNewName) {
  const std::string text = kImage + layer("Concat", "concat_param { concat_dim: 2 }", "bottom: 'data' bottom: 'data'");
  EXPECT_EQ(mended_types(text, "opencv", "counted-axes"), (Types{"Input", "Concat"}));
}

TEST(DeployReaders, OutputsOfMnnAreCalledLikeTheirLayers) {
  const std::string text = kImage + "layer { name: 'it' type: 'Exp' bottom: 'data' top: 'end' }\n";
  EXPECT_EQ(mended_types(text, "mnn", "last-layer"), (Types{"Input", "Exp"}));
  Deployment deployment(text);
  deployment.options.target = "mnn";
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"end"});
  EXPECT_EQ(deployment.net().layer(1).name(), "end");
}

TEST(DeployReaders, OutputsThatAreNotFiniteAreNamedWithTheirLayer) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }") +
                        "layer { name: 'end' type: 'ReLU' bottom: 'it' top: 'end' }\n");
  std::vector<float> bias(5, 0);
  bias[1] = INFINITY;
  for (const Node& node : deployment.trained->graph().nodes) {
    if (node.layer->type() == "InnerProduct") deployment.trained->blobs().write_param(*node.params[1], bias);
  }
  deployment.save();
  const Error error = error_of([&] { deployment.run(); });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
  EXPECT_TRUE(contains(error.what(), "net.prototxt:2: layer \"it\": on a random input 2 of 10 numbers of its top it"))
      << error.what();
}

TEST(DeployReaders, WhatALogReadsIsPositive) {
  Deployment deployment(kImage + layer("Log", "log_param { scale: -2 shift: 1 }"));
  EXPECT_LE(deployment.run().difference, 1e-6);
}

}  // namespace
}  // namespace robusta::test::deploy_readers_test
