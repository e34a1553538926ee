// Each rule: a net that breaks it is reported, rewritten and computes what it did; what was written breaks no rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "exchange/deploy/rules.h"
#include "exchange/deploy_rules_fixture.h"
#include "solver/files/model_format.h"
#include "support/places.h"

namespace robusta::test::deploy_rules_test {
namespace {

using namespace deploy_fixture;

TEST(DeployRules, FloorPoolingIsCutOff) {
  const Types expected{"Input", "Pooling", "Convolution"};
  EXPECT_EQ(mended_types(kImage + layer("Pooling", "pooling_param { kernel_size: 3 stride: 2 round_mode: FLOOR }"),
                         "opencv", "floor-pooling"),
            expected);
  EXPECT_EQ(mended_types(kImage + layer("Pooling",
                                        "pooling_param { kernel_size: 3 stride: 2 pad: 1 pool: AVE ceil_mode: "
                                        "false }"),
                         "openvino", "floor-pooling"),
            expected);
}

TEST(DeployRules, FloorPoolingThatDividesIsPooling) {
  EXPECT_EQ(mended_types(input("dim: 1 dim: 2 dim: 8 dim: 8") +
                             layer("Pooling", "pooling_param { kernel_size: 2 stride: 2 round_mode: FLOOR }"),
                         "mnn", "floor-pooling"),
            (Types{"Input", "Pooling"}));
}

TEST(DeployRules, FloorPoolingOfTwoTopsIsRefused) {
  const std::string text = kImage +
                           "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'p' top: 'mask'\n"
                           "  pooling_param { kernel_size: 3 stride: 2 round_mode: FLOOR } }\n";
  EXPECT_EQ(lint_text(text, "ncnn").code, 9);
  Deployment deployment(text);
  deployment.options.target = "ncnn";
  const Error error = error_of([&] { deployment.run(); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "net.prototxt:3: layer \"p\": "));
  EXPECT_FALSE(std::filesystem::exists(deployment.folder / "out.prototxt"));
  EXPECT_FALSE(std::filesystem::exists(deployment.folder / "out.caffemodel"));
}

TEST(DeployRules, LayersOfTrainingAreToldOnceEach) {
  const std::string text = read_file(source_dir() + "/models/lenet/train_val.prototxt");
  for (const char* target : {"any", "mnn"}) {
    const LintResult found = lint_text(text, target);
    EXPECT_EQ(found.code, 2) << "deploy takes them away";
    for (const char* layer :
         {"layer \"data\": Data", "layer \"loss\": SoftmaxWithLoss", "layer \"accuracy\": Accuracy"}) {
      const size_t at = found.text.find(layer);
      ASSERT_NE(at, std::string::npos) << found.text;
      EXPECT_TRUE(contains(found.text.substr(at), "is a layer of training [inference-layers; "));
    }
    EXPECT_FALSE(contains(found.text, "-types")) << found.text;
  }
  EXPECT_EQ(lint_text(text, "netron").text, "") << "it shows them";
}

TEST(DeployRules, TwoKernelSizesAreNamed) {
  const std::string text =
      kImage + layer("Convolution",
                     "convolution_param { num_output: 4 kernel_size: 3 kernel_size: 5 pad: 1 pad: 2 "
                     "stride: 1 stride: 2 }");
  EXPECT_EQ(mended_types(text, "mnn", "kernel-h-w"), (Types{"Input", "Convolution"}));
}

TEST(DeployRules, TwoDilationsBecomeZerosInTheKernel) {
  const std::string fields =
      "convolution_param { num_output: 6 kernel_size: 3 group: 3 dilation: 1 dilation: 2 pad: 2 pad: 3 }";
  EXPECT_EQ(mended_types(kImage + layer("Convolution", fields), "ncnn", "equal-dilations"),
            (Types{"Input", "Convolution"}));
  EXPECT_EQ(mended_types(kImage + layer("Deconvolution", fields), "openvino", "equal-dilations"),
            (Types{"Input", "Deconvolution"}));
}

TEST(DeployRules, FieldsWithoutEffectGo) {
  const std::string text =
      kImage + layer("Convolution", "convolution_param { num_output: 2 kernel_size: 1 conv_algorithm: 'x' }");
  EXPECT_EQ(mended_types(text, "rknn", "known-fields"), (Types{"Input", "Convolution"}));
  EXPECT_EQ(mended_types(text, "opencv", "known-fields"), (Types{"Input", "Convolution"}));
}

TEST(DeployRules, FieldsWithEffectAreRefused) {
  const std::string text = kImage + layer("Pooling",
                                          "pooling_param { kernel_size: 3 stride: 2 pad: 1 pool: AVE\n"
                                          "avg_include_pad: false }");
  const LintResult found = lint_text(text, "mnn");
  EXPECT_EQ(found.code, 9);
  EXPECT_TRUE(contains(found.text, "net.prototxt:3: layer \"it\": Caffe itself has no pooling_param.avg_include_pad"));
  Deployment deployment(text);
  deployment.options.target = "mnn";
  EXPECT_EQ(error_of([&] { deployment.run(); }).kind(), ErrorKind::kUnsupported);
}

TEST(DeployRules, GlobalStatsAreSaid) {
  EXPECT_EQ(mended_types(kImage + layer("BatchNorm", ""), "ascend", "global-stats"), (Types{"Input", "BatchNorm"}));
}

TEST(DeployRules, TransposedInnerProduct) {
  const std::string text = kImage + layer("InnerProduct", "inner_product_param { num_output: 5 transpose: true }");
  EXPECT_EQ(mended_types(text, "opencv", "not-transposed"), (Types{"Input", "InnerProduct"}));
}

TEST(DeployRules, InnerProductOfAnotherAxis) {
  for (const char* axis : {"2", "-1"}) {
    const std::string fields = std::string("inner_product_param { num_output: 5 axis: ") + axis + " }";
    EXPECT_EQ(mended_types(kImage + layer("InnerProduct", fields), "openvino", "inner-axis"),
              (Types{"Input", "Reshape", "InnerProduct", "Reshape"}));
  }
  EXPECT_EQ(mended_types(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 axis: -3 }"), "tpu-mlir",
                         "inner-axis"),
            (Types{"Input", "InnerProduct"}));
}

TEST(DeployRules, LrnWithAnotherK) {
  EXPECT_EQ(
      mended_types(kImage + layer("LRN", "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 k: 2 }"), "mnn", "lrn-k"),
      (Types{"Input", "LRN", "Power"}));
  EXPECT_EQ(mended_types(kImage + layer("LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL k: 2 }"), "ncnn",
                         "lrn-k"),
            (Types{"Input", "LRN"}));
}

TEST(DeployRules, EltwiseCoefficientsScaleBefore) {
  const std::string text = kImage + input("dim: 2 dim: 3 dim: 8 dim: 9", "b") +
                           layer("Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 }", "bottom: 'data' bottom: 'b'");
  EXPECT_EQ(mended_types(text, "rknn", "no-coeff"), (Types{"Input", "Input", "Power", "Eltwise"}));
}

TEST(DeployRules, ReshapeIsWritten) {
  const std::string fields = "reshape_param { shape { dim: 4 dim: -1 } axis: 2 num_axes: 1 }";
  EXPECT_EQ(mended_types(kImage + layer("Reshape", fields), "openvino", "whole-reshape"), (Types{"Input", "Reshape"}));
}

TEST(DeployRules, SlicePointsAreWritten) {
  const std::string text = kImage + "layer { name: 's' type: 'Slice' bottom: 'data' top: 'a' top: 'b' top: 'c' }\n";
  EXPECT_EQ(mended_types(text, "mnn", "slice-points"), (Types{"Input", "Slice"}));
}

TEST(DeployRules, TheLastLayerIsNotInPlace) {
  const std::string text = kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }") +
                           "layer { name: 'relu' type: 'ReLU' bottom: 'it' top: 'it' }\n";
  Deployment deployment(text);
  deployment.options.target = "mnn";
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"it"});
  EXPECT_EQ(mended_types(text, "rknn", "last-layer"), (Types{"Input", "InnerProduct", "ReLU"}));
}

TEST(DeployRules, APowerThatEndsANetIsCalledLikeItsTop) {
  const std::string lrn = kImage + layer("LRN", "lrn_param { local_size: 3 alpha: 0.5 k: 2 }");
  EXPECT_EQ(mended_types(lrn, "mnn", "lrn-k"), (Types{"Input", "LRN", "Power"}));
  Deployment deployment(lrn);
  deployment.options.target = "mnn";
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"it"});
  EXPECT_EQ(deployment.net().layer(2).name(), "it");
  EXPECT_EQ(deployment.net().layer(1).name(), "it_k");
  const std::string power =
      "layer { name: 'half' type: 'Power' bottom: 'data' top: 'end' power_param { scale: 0.5 } }\n";
  EXPECT_EQ(mended_types(kImage + power, "mnn", "last-layer"), (Types{"Input", "Power"}));
}

TEST(DeployRules, LayersOfOneNameGetTheirOwn) {
  const std::string text = kImage + layer("ReLU", "") + "layer { name: 'it' type: 'TanH' bottom: 'it' top: 'b' }\n";
  EXPECT_EQ(mended_types(text, "netron", "one-name"), (Types{"Input", "ReLU", "TanH"}));
}

TEST(DeployRules, AveragesOfPaddedWindowsAreConvolutions) {
  const std::string padded = "pooling_param { pool: AVE kernel_h: 3 kernel_w: 5 stride: 1 pad_h: 1 pad_w: 2 }";
  EXPECT_EQ(mended_types(kImage + layer("Pooling", padded), "ncnn", "average-padding"),
            (Types{"Input", "Convolution"}));
  // A Convolution rounds down by itself.
  const std::string floor = "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR }";
  EXPECT_EQ(mended_types(kImage + layer("Pooling", floor), "ncnn", "average-padding"), (Types{"Input", "Convolution"}));
  const std::string volume = input("dim: 1 dim: 2 dim: 4 dim: 5 dim: 4");
  const std::string text = volume + layer("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 }");
  EXPECT_EQ(lint_text(text, "ncnn").code, 9);
  for (const char* target : {"openvino", "tpu-mlir"}) {
    EXPECT_EQ(lint_text(kImage + layer("Pooling", padded), target).text, "") << target << " computes the same";
  }
}

TEST(DeployRules, AveragesOfWindowsThatAreCutAreWarnedOf) {
  const std::string fields = "pool: AVE kernel_size: 3 stride: 2";
  const LintResult cut = lint_text(kImage + layer("Pooling", "pooling_param { " + fields + " }"), "rknn");
  EXPECT_TRUE(contains(cut.text, "average-cut"));
  EXPECT_EQ(cut.code, 0);
  EXPECT_EQ(lint_text(kImage + layer("Pooling", "pooling_param { " + fields + " }"), "ncnn").text, "");
  const LintResult both = lint_text(kImage + layer("Pooling", "pooling_param { " + fields + " pad: 1 }"), "ncnn");
  EXPECT_TRUE(contains(both.text, "average-both"));
  EXPECT_EQ(both.code, 0);
  EXPECT_EQ(lint_text(kImage + layer("Pooling", "pooling_param { pool: AVE kernel_size: 2 stride: 1 }"), "rknn").text,
            "");
}

TEST(DeployRules, TypesOfForks) {
  const std::string permute = kImage + layer("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }");
  const LintResult found = lint_text(permute, "rknn");
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(contains(found.text, "known-types"));
  EXPECT_EQ(lint_text(permute, "ncnn").text, "") << "its table has the type";
  const std::string upsample = kImage + layer("UpsampleDarknet", "upsample_darknet_param { stride: 2 }");
  EXPECT_EQ(lint_text(upsample, "ncnn").code, 9);
  EXPECT_EQ(lint_text(upsample, "rknn").code, 0);
  EXPECT_EQ(lint_text(upsample, "openvino").code, 9);
}

TEST(DeployRules, WeightsInOtherForms) {
  const TempDir folder;
  caffe::NetParameter model;
  caffe::LayerParameter* layer = model.add_layer();
  layer->set_name("bn");
  layer->set_type("BatchNorm");
  layer->add_blobs()->add_double_data(1);
  layer->add_blobs()->set_num(1);
  layer->mutable_blobs(1)->add_data(1);
  const std::string path = folder / "w.caffemodel";
  write_binary_proto(path, model);
  const LintResult few = lint_files({path}, "any");
  EXPECT_EQ(few.code, 9);
  for (const char* rule : {"float-arrays", "array-shapes", "three-arrays"}) EXPECT_TRUE(contains(few.text, rule));
  EXPECT_TRUE(contains(few.text, "2 arrays [three-arrays; rknn, tpu-mlir]; save it with a third array"));
  layer->add_blobs()->add_data(1);
  write_binary_proto(path, model);
  const LintResult found = lint_files({path}, "any");
  EXPECT_EQ(found.code, 4);
  EXPECT_TRUE(contains(found.text, "array 2 has no shape [three-arrays; rknn, tpu-mlir]; caffe deploy: "));
}

TEST(DeployRules, OldNetsAreReported) {
  const LintResult found = lint_text(
      "input: 'data' input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 4\n"
      "layers { name: 'r' type: RELU bottom: 'data' top: 'r' }\n",
      "mnn");
  EXPECT_EQ(found.code, 2);
  EXPECT_TRUE(contains(found.text, "new-layers"));
}

/// No blob is called like a layer that does not make it: OpenCV refuses such nets.
void expect_no_clash(const caffe::NetParameter& net) {
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (const caffe::LayerParameter& other : net.layer()) {
      if (other.name() == layer.name()) continue;
      for (const std::string& top : other.top()) {
        const bool in_place = std::find(other.bottom().begin(), other.bottom().end(), top) != other.bottom().end();
        EXPECT_TRUE(in_place || top != layer.name()) << top << " of " << other.name();
      }
    }
  }
}

TEST(DeployRules, WhatIsPutInIsCalledLikeNoLayerAndNoBlob) {
  const std::string product = layer("InnerProduct", "inner_product_param { num_output: 5 axis: 2 }", "bottom: 'data'");
  const std::string others =
      "layer { name: 'it_rows' type: 'ReLU' bottom: 'it' top: 'it_axes' }\n"
      "layer { name: 'it_axes_bottom' type: 'TanH' bottom: 'it_axes' top: 'it_axes_bottom' }\n";
  Deployment deployment(kImage + product + others);
  deployment.options.target = "openvino";
  EXPECT_LE(deployment.run().difference, 1e-5);
  const caffe::NetParameter net = deployment.net();
  std::set<std::string> names;
  for (const caffe::LayerParameter& each : net.layer()) EXPECT_TRUE(names.insert(each.name()).second) << each.name();
  for (const char* name : {"it_rows_2", "it_axes_2"}) EXPECT_TRUE(names.contains(name)) << name;
  expect_no_clash(net);
}

TEST(DeployRules, AnAxisOfInnerProductBringsNoClashOfNames) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 axis: 2 }"));
  deployment.options.target = "openvino";
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"it"});
  expect_no_clash(deployment.net());
}

TEST(DeployRules, ALayerWithoutWeightsInTheFileIsRefused) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  caffe::NetParameter model;
  read_binary_proto(deployment.folder / "w.caffemodel", &model, ErrorKind::kModel);
  ASSERT_EQ(model.layer(1).name(), "it");
  model.mutable_layer(1)->set_name("that");
  write_binary_proto(deployment.folder / "w.caffemodel", model);
  write_file(deployment.folder / "net.prototxt",
             kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  const std::string net = deployment.folder / "net.prototxt", weights = deployment.folder / "w.caffemodel";
  const LintResult found = lint_files({net, weights}, "opencv");
  EXPECT_EQ(found.code, 9) << found.text;
  EXPECT_TRUE(contains(found.text, net + ":2: layer \"it\": no weights in " + weights + " [one-name; opencv]"));
  EXPECT_TRUE(contains(found.text, "layer \"that\": weights that no layer of " + net + " takes"));
  EXPECT_EQ(lint_files({net}, "opencv").code, 0);
}

TEST(DeployRules, WeightsThatNoLayerTakesAreANote) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  write_file(deployment.folder / "net.prototxt", kImage + layer("ReLU", ""));
  const LintResult found =
      lint_files({deployment.folder / "net.prototxt", deployment.folder / "w.caffemodel"}, "opencv");
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_TRUE(contains(found.text, "a note: caffe deploy leaves them out"));
}

TEST(DeployRules, OfSeveralNetsThoseOfOneNameArePairs) {
  const TempDir folder;
  write_file(folder / "a.prototxt", kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  write_file(folder / "b.prototxt", kImage + layer("ReLU", ""));
  caffe::NetParameter model;
  model.add_layer()->set_name("other");
  write_binary_proto(folder / "b.caffemodel", model);
  EXPECT_EQ(lint_files({folder / "a.prototxt", folder / "b.prototxt", folder / "b.caffemodel"}, "opencv").code, 0);
  std::filesystem::rename(folder / "b.caffemodel", folder / "a.caffemodel");
  EXPECT_EQ(lint_files({folder / "a.prototxt", folder / "b.prototxt", folder / "a.caffemodel"}, "opencv").code, 9);
}

TEST(DeployRules, FilesAreToldByWhatTheyHold) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  const TempDir& folder = deployment.folder;
  std::filesystem::rename(folder / "w.caffemodel", folder / "model.dat");
  write_file(folder / "net.h5",
             kImage + layer("InnerProduct", "inner_product_param { num_output: 5 transpose: true }"));
  const LintResult found = lint_files({folder / "model.dat", folder / "net.h5"}, "opencv");
  EXPECT_EQ(found.code, 2) << found.text;
  EXPECT_TRUE(contains(found.text, "net.h5:2: layer \"it\": transposed weights"));
  EXPECT_EQ(found.text.find("no weights in"), std::string::npos) << found.text;
}

TEST(DeployRules, Hdf5FilesAreOpenedAndBelongToTheNetOfTheirName) {
  Deployment deployment(kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  const TempDir& folder = deployment.folder;
  const std::string other = folder / "b.prototxt", net = folder / "a.prototxt", weights = folder / "a.caffemodel.h5";
  write_file(net, kImage + layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  write_file(other, kImage + layer("ReLU", ""));
  const auto formats = model_formats();
  const auto hdf5 = std::find_if(formats.begin(), formats.end(),
                                 [](const ModelFormat* format) { return format->model_ending() == ".caffemodel.h5"; });
  if (hdf5 == formats.end()) GTEST_SKIP() << "built without HDF5";
  (*hdf5)->write_model(weights, *deployment.trained, false);
  const LintResult found = lint_files({net, other, weights}, "opencv");
  EXPECT_EQ(found.code, 4) << found.text;
  EXPECT_TRUE(contains(found.text, "a.caffemodel.h5: an HDF5 file [float-arrays; opencv]"));
  // Those of b.prototxt would be a note.
  EXPECT_EQ(found.text.find("weights that no layer"), std::string::npos) << found.text;
  std::filesystem::resize_file(weights, 700);
  EXPECT_EQ(error_of([&] { lint_files({weights}, "opencv"); }).kind(), ErrorKind::kModel);
}

TEST(DeployRules, AFileOfTwoGibibytesIsToldWithAWayOut) {
  const TempDir folder;
  write_file(folder / "w.caffemodel", "x");
  std::filesystem::resize_file(folder / "w.caffemodel", uintmax_t{3} << 30);  // without content, so no disk
  const Error error = error_of([&] { lint_files({folder / "w.caffemodel"}, "any"); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(error.what(), "less than 2 GiB"));
  EXPECT_TRUE(contains(error.fix(), "HDF5")) << error.fix();
}

TEST(DeployRules, WeightsOfTwoGibibytesAreRefusedBeforeAnythingIsComputed) {
  const NetDef def =
      parse_net(kImage + layer("Embed", "embed_param { num_output: 4096 input_dim: 200000 }"), "net.prototxt");
  deploy::DeployOptions options;
  const TempDir folder;
  options.weights = {folder / "absent.caffemodel"};
  options.output = folder / "out";
  const Error error = error_of([&] { deploy::deploy(def, {}, options); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
  EXPECT_TRUE(contains(error.what(), "less than 2 GiB")) << error.what();
  EXPECT_TRUE(contains(error.fix(), "layer it")) << error.fix();
}

TEST(DeployRules, TargetsHaveNames) {
  EXPECT_TRUE(contains(error_of([] { deploy::toolchains_named("ncn"); }).what(), "did you mean \"ncnn\""));
  EXPECT_EQ(deploy::toolchains_named("any"), deploy::kAll);
}

TEST(DeployRules, TheDocumentHasTheTable) {
  EXPECT_TRUE(contains(read_file(source_dir() + "/docs/deploy.md"), deploy::rules_markdown()));
}

}  // namespace
}  // namespace robusta::test::deploy_rules_test
