// What ncnn's converter passes over: mended, or refused.
#include <gtest/gtest.h>

#include "exchange/deploy_rules_fixture.h"

namespace robusta::test::deploy_ncnn_test {
namespace {

using namespace deploy_fixture;

Types mended(const std::string& text, const std::string& rule) { return mended_types(text, "ncnn", rule); }

/// What deploy says to a net that ncnn cannot take; lint has to say it, too.
std::string refusal_of(const std::string& text) {
  const LintResult found = lint_text(text, "ncnn");
  EXPECT_EQ(found.code, 9) << found.text;
  EXPECT_TRUE(contains(found.text, "[ncnn-types; ncnn]")) << found.text;
  Deployment deployment(text);
  deployment.options.target = "ncnn";
  return error_of([&] { deployment.run(); }).what();
}

TEST(DeployNcnn, AnExpOfAnotherBase) {
  EXPECT_EQ(mended(kImage + layer("Exp", "exp_param { base: 3 scale: 0.5 shift: 0.25 }"), "plain-exp"),
            (Types{"Input", "Power", "Exp"}));
  EXPECT_EQ(mended(kImage + layer("Exp", "exp_param { shift: 1 }"), "plain-exp"), (Types{"Input", "Power", "Exp"}));
  EXPECT_EQ(lint_text(kImage + layer("Exp", ""), "ncnn").text, "");
}

TEST(DeployNcnn, ExtentsOfAReshapeAreSaid) {
  const std::string text = kImage + layer("Reshape", "reshape_param { shape { dim: -1 dim: 0 dim: 72 } }");
  EXPECT_EQ(mended(text, "said-reshape"), (Types{"Input", "Reshape"}));
  Deployment deployment(text);
  deployment.options.target = "ncnn";
  deployment.run();
  const auto& dims = deployment.net().layer(1).reshape_param().shape().dim();
  EXPECT_EQ(std::vector<int64_t>(dims.begin(), dims.end()), (std::vector<int64_t>{0, 3, 72}));
}

TEST(DeployNcnn, SettingsOfASwishAreTakenAway) {
  const std::string text = kImage + layer("Swish", "swish_param { beta: 1 }");
  EXPECT_EQ(mended(text, "ncnn-fields"), (Types{"Input", "Swish"}));
  Deployment deployment(text);
  deployment.options.target = "ncnn";
  deployment.run();
  EXPECT_FALSE(deployment.net().layer(1).has_swish_param());
  EXPECT_EQ(mended(kImage + layer("Swish", "swish_param { beta: 2 }"), "swish-beta"),
            (Types{"Input", "Power", "Sigmoid", "Eltwise"}));
}

TEST(DeployNcnn, WhatIsMendedForOthersToo) {
  EXPECT_EQ(mended(kImage + layer("Bias", ""), "bias-scale"), (Types{"Input", "Scale"}));
  EXPECT_EQ(mended(kImage + layer("Clip", "clip_param { min: 0 max: 6 }"), "no-clip"), (Types{"Input", "ReLU6"}));
  EXPECT_EQ(mended(kImage + layer("Tile", "tile_param { tiles: 2 }"), "tile-concat"), (Types{"Input", "Concat"}));
  EXPECT_EQ(mended(kImage + layer("Softmax", "softmax_param { axis: -1 }"), "counted-axes"),
            (Types{"Input", "Softmax"}));
}

TEST(DeployNcnn, AnOutputInPlaceGetsANameOfItsOwn) {
  const std::string text = kImage + layer("TanH", "") + "layer { name: 'r' type: 'ReLU' bottom: 'it' top: 'it' }\n";
  EXPECT_EQ(mended(text, "last-layer"), (Types{"Input", "TanH", "ReLU"}));
}

TEST(DeployNcnn, ACropThatKeepsTheChannelsIsMadeOfSlices) {
  const auto crop = [](const char* shape, const char* fields) {
    return kImage + input(shape, "b") +
           layer("Crop", std::string("crop_param { ") + fields + " }", "bottom: 'data' bottom: 'b'");
  };
  EXPECT_EQ(mended(crop("dim: 2 dim: 2 dim: 4 dim: 7", "axis: 2 offset: 3 offset: 2"), "crop-slices"),
            (Types{"Input", "Input", "Slice", "Silence", "Slice", "Silence"}));
  EXPECT_EQ(mended(crop("dim: 2 dim: 2 dim: 8 dim: 3", "axis: -1 offset: 0"), "counted-axes"),
            (Types{"Input", "Input", "Slice", "Silence"}));
  EXPECT_EQ(mended(crop("dim: 2 dim: 2 dim: 8 dim: 9", "axis: 2"), "crop-slices"), (Types{"Input", "Input", "Power"}));
  EXPECT_EQ(lint_text(crop("dim: 2 dim: 3 dim: 4 dim: 5", "axis: 2"), "ncnn").text, "");
}

TEST(DeployNcnn, NothingWorksAlongTheSamples) {
  const std::string two = "bottom: 'data' bottom: 'data'";
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Concat", "concat_param { axis: 0 }", two)), "along the samples"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Softmax", "softmax_param { axis: -4 }")), "along the samples"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Permute", "permute_param { order: 1 order: 0 }")), "of the samples"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Reshape", "reshape_param { shape { dim: -1 dim: 9 } }")),
                       "changes the number of samples"));
  const std::string slice =
      kImage + "layer { name: 's' type: 'Slice' bottom: 'data' top: 'a' top: 'b' slice_param { axis: 0 } }\n";
  EXPECT_TRUE(contains(refusal_of(slice), "along the samples"));
}

TEST(DeployNcnn, FormsThatItLacksAreRefused) {
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Reduction", "reduction_param { axis: 1 }")), "no layer of type"));
  EXPECT_TRUE(contains(refusal_of(kImage + layer("Scale", "scale_param { axis: 2 }")), "other than the channels"));
  const std::string product = "inner_product_param { num_output: 2 axis: ";
  EXPECT_TRUE(contains(refusal_of(kImage + layer("InnerProduct", product + "2 }")), "the last of three"));
  EXPECT_EQ(lint_text(input("dim: 2 dim: 3 dim: 4") + layer("InnerProduct", product + "2 }"), "ncnn").text, "");
}

TEST(DeployNcnn, ASecondBottomOfAScaleIsANumberForEachChannel) {
  const auto scale = [](const std::string& shape, const std::string& fields) {
    return kImage + input(shape, "b") + layer("Scale", "scale_param { " + fields + " }", "bottom: 'data' bottom: 'b'");
  };
  EXPECT_EQ(lint_text(scale("dim: 2 dim: 3", "axis: 0"), "ncnn").text, "");
  EXPECT_TRUE(contains(refusal_of(scale("dim: 2 dim: 3 dim: 8", "axis: 0")), "a number for each channel"));
}

}  // namespace
}  // namespace robusta::test::deploy_ncnn_test
