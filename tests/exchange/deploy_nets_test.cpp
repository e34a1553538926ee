// Whole nets: heads, labels, inputs, transformations, folding, forms of BatchNorm; and strange ones.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/deploy/verify.h"
#include "exchange/deploy_fixture.h"
#include "support/places.h"

namespace robusta::test::deploy_nets_test {
namespace {

using namespace deploy_fixture;

std::string data_layer(const std::string& transform = "") {
  return "layer { name: 'source' type: 'Data' top: 'data' top: 'label' data_param { source: 'absent' batch_size: 4 }\n"
         "  transform_param { crop_size: 8 " +
         transform + " } }\n";
}

std::string conv(const std::string& bottom, const std::string& name, const std::string& fields = "kernel_size: 3") {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: 4 " + fields + " } }\n";
}

const std::string kScores =
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'c' top: 'ip' inner_product_param { num_output: 5 } }\n";
const std::string kLoss =
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' loss_weight: 2 }\n";

TEST(DeployNets, LenetForAnyTarget) {
  const std::string text = read_file(source_dir() + "/models/lenet/train_val.prototxt");
  Deployment deployment(text);
  deployment.options.target = "any";
  const deploy::Deployed done = deployment.run();
  EXPECT_EQ(done.outputs, std::vector<std::string>{"prob"});
  EXPECT_EQ(done.inputs, std::vector<std::string>{"data"});
  EXPECT_EQ(deployment.types(), (Types{"Input", "Convolution", "Pooling", "Convolution", "Pooling", "InnerProduct",
                                       "ReLU", "InnerProduct", "Softmax"}));
  EXPECT_EQ(deployment.net().layer(0).input_param().shape(0).dim(0), 1);
  EXPECT_FALSE(contains(deployment.text(), "param {\n    lr_mult"));
  EXPECT_EQ(deployment.model().layer(1).blobs_size(), 2);
  EXPECT_TRUE(contains(read_file(deployment.folder / "out.transform.json"), "\"scale\": 0.00390625"));
}

TEST(DeployNets, AnOutputThatDoesNotFollowTheInputIsTold) {
  Deployment deployment(kImage + conv("data", "c"));
  EXPECT_FALSE(deployment.run().constant);
  const ParamPtr weights = deployment.trained->graph().nodes[NodeId(1)].params.at(0);
  deployment.trained->blobs().write_param(*weights, std::vector<float>(static_cast<size_t>(weights->desc.count())));
  deployment.save();
  const deploy::Deployed done = deployment.run();
  EXPECT_TRUE(done.constant) << "only the bias is left";
  EXPECT_EQ(done.difference, 0);
}

TEST(DeployNets, AResidualNetIsFolded) {
  const std::string text = data_layer() + conv("data", "c0", "kernel_size: 3 bias_term: false pad: 1") + R"(
layer { name: 'bn0' type: 'BatchNorm' bottom: 'c0' top: 'c0' }
layer { name: 'sc0' type: 'Scale' bottom: 'c0' top: 'c0' scale_param { bias_term: true } }
layer { name: 're0' type: 'PReLU' bottom: 'c0' top: 'c0' }
layer { name: 'up' type: 'Deconvolution' bottom: 'c0' top: 'up'
  convolution_param { num_output: 4 kernel_size: 2 stride: 2 group: 2 } }
layer { name: 'bn1' type: 'BatchNorm' bottom: 'up' top: 'bn1' }
layer { name: 'down' type: 'Pooling' bottom: 'bn1' top: 'down' pooling_param { kernel_size: 2 stride: 2 } }
layer { name: 'c' type: 'Eltwise' bottom: 'c0' bottom: 'down' top: 'c' }
layer { name: 'drop' type: 'Dropout' bottom: 'c' top: 'c' }
)" + kScores + kLoss + "layer { name: 'acc' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'acc' }\n";
  Deployment deployment(text);
  deployment.options.fold = true;
  deployment.options.target = "any";
  deployment.options.batch = 3;
  const deploy::Deployed done = deployment.run();
  EXPECT_EQ(deployment.types(),
            (Types{"Input", "Convolution", "PReLU", "Deconvolution", "Pooling", "Eltwise", "InnerProduct", "Softmax"}));
  EXPECT_EQ(deployment.net().layer(0).input_param().shape(0).dim(0), 3);
  EXPECT_LE(done.difference, 1e-5);
  deployment.options.fold = false;
  deployment.run();
  const caffe::NetParameter model = deployment.model();
  EXPECT_EQ(model.layer(2).type(), "BatchNorm");
  EXPECT_EQ(model.layer(2).blobs_size(), 3);
  EXPECT_EQ(model.layer(2).blobs(2).data(0), 1);
  EXPECT_EQ(model.layer(2).blobs(2).shape().dim_size(), 1);
  EXPECT_TRUE(model.layer(2).batch_norm_param().use_global_stats());
}

TEST(DeployNets, BatchNormOfFiveArraysBecomesTwoLayers) {
  Deployment deployment(kImage +
                        "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'\n"
                        "  batch_norm_param { scale_bias: true } }\n");
  deployment.run();
  EXPECT_EQ(deployment.types(), (Types{"Input", "BatchNorm", "Scale"}));
  EXPECT_EQ(deployment.model().layer(2).blobs(1).data_size(), 3);
}

TEST(DeployNets, BnOfForksBecomesBatchNorm) {
  Deployment pspnet(kImage +
                    "layer { name: 'bn' type: 'BN' bottom: 'data' top: 'bn' bn_param { momentum: 0.9 eps: 0.01 } }\n");
  pspnet.run();
  EXPECT_EQ(pspnet.types(), (Types{"Input", "BatchNorm", "Scale"}));
  Deployment segnet(kImage +
                    "layer { name: 'bn' type: 'BN' bottom: 'data' top: 'bn' bn_param { bn_mode: INFERENCE } }\n");
  segnet.run();
  EXPECT_EQ(segnet.types(), (Types{"Input", "Scale"}));
}

TEST(DeployNets, TheBatchsOwnStatisticsAreRefused) {
  Deployment deployment(kImage +
                        "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'\n"
                        "  batch_norm_param { use_global_stats: false } }\n");
  const Error error = error_of([&] { deployment.run(); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "net.prototxt:3: layer \"bn\""));
}

TEST(DeployNets, MeanAndScaleAreFolded) {
  const std::string transform = "mean_value: 100 mean_value: 110 mean_value: 120 scale: 0.02";
  for (const bool padded : {false, true}) {
    Deployment deployment(data_layer(transform) +
                          conv("data", "c", padded ? "kernel_size: 3 pad: 1" : "kernel_size: 3") + kScores + kLoss);
    deployment.options.transform = deploy::TransformMode::kFold;
    const deploy::Deployed done = deployment.run();
    EXPECT_LE(done.difference, 1e-4);
    EXPECT_FALSE(std::filesystem::exists(deployment.folder / "out.transform.json"));
    const Types plain{"Input", "Convolution", "InnerProduct", "Softmax"};
    const Types layered{"Input", "Scale", "Convolution", "InnerProduct", "Softmax"};
    EXPECT_EQ(deployment.types(), padded ? layered : plain);
  }
}

TEST(DeployNets, ScaleAloneIsFoldedBesidePadding) {
  Deployment deployment(data_layer("scale: 0.02") + conv("data", "c", "kernel_size: 3 pad: 1") + kScores + kLoss);
  deployment.options.transform = deploy::TransformMode::kFold;
  deployment.run();
  EXPECT_EQ(deployment.types(), (Types{"Input", "Convolution", "InnerProduct", "Softmax"}));
}

TEST(DeployNets, AMeanImageIsFoldedIntoInnerProducts) {
  const TempDir folder;
  caffe::BlobProto mean;
  std::vector<float> values(3 * 10 * 10);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
  blob_to_proto({1, 3, 10, 10}, values.data(), &mean);
  write_binary_proto(folder / "mean.binaryproto", mean);
  const std::string data = data_layer("mean_file: '" + folder / "mean.binaryproto" + "'");
  Deployment inner(data +
                   "layer { name: 'c' type: 'InnerProduct' bottom: 'data' top: 'c' inner_product_param { num_output: 7 "
                   "transpose: true } }\n" +
                   kScores + kLoss);
  inner.options.transform = deploy::TransformMode::kFold;
  inner.run();
  EXPECT_EQ(inner.types(), (Types{"Input", "InnerProduct", "InnerProduct", "Softmax"}));
  Deployment image(data + conv("data", "c") + kScores + kLoss);
  image.options.transform = deploy::TransformMode::kFold;
  image.run();
  EXPECT_EQ(image.types(), (Types{"Input", "Scale", "Convolution", "InnerProduct", "Softmax"}));
}

TEST(DeployNets, LabelsGoWithWhatHangsOnThem) {
  const std::string text =
      data_layer() + conv("data", "c") + kScores +
      "layer { name: 'cut' type: 'Slice' bottom: 'label' top: 'l1' top: 'l2' slice_param { axis: 0 slice_point: 2 } }\n"
      "layer { name: 'join' type: 'Concat' bottom: 'l1' bottom: 'l2' top: 'l' concat_param { axis: 0 } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'l' top: 'loss' }\n"
      "layer { name: 'total' type: 'Power' bottom: 'loss' top: 'total' }\n";
  Deployment deployment(text);
  deployment.options.batch = 4;
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"prob"});
  EXPECT_EQ(deployment.types(), (Types{"Input", "Convolution", "InnerProduct", "Softmax"}));
}

TEST(DeployNets, SeveralLossesAndScores) {
  const std::string text =
      data_layer() + conv("data", "c") + kScores + kLoss +
      "layer { name: 'side' type: 'EuclideanLoss' bottom: 'c' bottom: 'c' top: 'side' }\n"
      "layer { name: 'ip2' type: 'InnerProduct' bottom: 'c' top: 'ip2' inner_product_param { num_output: 5 } }\n"
      "layer { name: 'zero' type: 'Power' bottom: 'ip2' top: 'truth' power_param { scale: 0 } }\n"
      "layer { name: 'cross' type: 'SigmoidCrossEntropyLoss' bottom: 'ip2' bottom: 'truth' top: 'cross' }\n";
  Deployment deployment(text);
  EXPECT_EQ(deployment.run().outputs.size(), 3u);  // loss_prob, prob, truth: no label, for it is computed of the data
  deployment.options.scores = true;
  EXPECT_EQ(deployment.run().outputs, (std::vector<std::string>{"ip", "truth"}));
  deployment.options.scores = false;
  deployment.options.blobs = {"prob"};
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"prob"});
  EXPECT_EQ(deployment.types().back(), "Sigmoid");
  deployment.options.blobs = {"probe"};
  EXPECT_TRUE(contains(error_of([&] { deployment.run(); }).what(), "did you mean \"prob\""));
}

TEST(DeployNets, DropoutAtTheEndAndSplitsGo) {
  const std::string text = kImage + R"(
layer { name: 'split' type: 'Split' bottom: 'data' top: 'a' top: 'b' }
layer { name: 'ra' type: 'ReLU' bottom: 'a' top: 'a' }
layer { name: 'rb' type: 'TanH' bottom: 'b' top: 'b' }
layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }
layer { name: 'drop' type: 'Dropout' bottom: 'sum' top: 'end' }
)";
  Deployment deployment(text);
  EXPECT_EQ(deployment.run().outputs, std::vector<std::string>{"end"});
  EXPECT_EQ(deployment.types(), (Types{"Input", "ReLU", "TanH", "Eltwise"}));
}

TEST(DeployNets, SharedWeightsAreWrittenForEachLayer) {
  const std::string shared = "param { name: 'w' } param { name: 'b' } inner_product_param { num_output: 4 } }\n";
  Deployment deployment(
      input("dim: 2 dim: 4") + input("dim: 2 dim: 4", "other") + input("dim: 2 dim: 1", "sim") +
      "layer { name: 'a' type: 'InnerProduct' bottom: 'data' top: 'a' " + shared +
      "layer { name: 'b' type: 'InnerProduct' bottom: 'other' top: 'b' " + shared +
      "layer { name: 'loss' type: 'ContrastiveLoss' bottom: 'a' bottom: 'b' bottom: 'sim' top: 'loss' }\n");
  EXPECT_EQ(deployment.run().outputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(deployment.types(), (Types{"Input", "Input", "InnerProduct", "InnerProduct"}));
  EXPECT_EQ(deployment.net().layer(2).param_size(), 0);
  const caffe::NetParameter model = deployment.model();
  EXPECT_EQ(model.layer(2).blobs(0).SerializeAsString(), model.layer(3).blobs(0).SerializeAsString());
}

TEST(DeployNets, WhatIsDeployedIsDeployedAgain) {
  Deployment first(data_layer() + conv("data", "c") + kScores + kLoss);
  first.run();
  const NetDef again = read_net(first.folder / "out.prototxt");
  deploy::DeployOptions options;
  options.weights = {first.folder / "out.caffemodel"};
  options.output = first.folder / "again";
  options.target = "any";
  EXPECT_EQ(deploy::deploy(again, {}, options).outputs, std::vector<std::string>{"prob"});
  EXPECT_EQ(read_file(first.folder / "again.prototxt"), first.text());
}

TEST(DeployNets, WeightsHaveToCoverTheNet) {
  Deployment deployment(data_layer() + conv("data", "c") + kScores + kLoss);
  write_binary_proto(deployment.folder / "w.caffemodel", [] {
    caffe::NetParameter empty;
    empty.add_layer()->set_name("elsewhere");
    return empty;
  }());
  const Error error = error_of([&] { deployment.run(); });
  EXPECT_EQ(error.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(error.what(), "no weights for 2 layer(s)"));
  EXPECT_FALSE(std::filesystem::exists(deployment.folder / "out.prototxt"));
}

TEST(DeployNets, WeightsThatAreNotThereAreNoMatterOfShapes) {
  Deployment deployment(data_layer() + conv("data", "c"));
  deployment.options.weights = {deployment.folder / "absent.caffemodel"};
  const std::string said = error_of([&] { deployment.run(); }).what();
  EXPECT_TRUE(contains(said, "absent.caffemodel: cannot open")) << said;
  EXPECT_FALSE(contains(said, "-shapes")) << said;
}

TEST(DeployNets, WhatIsNotFiniteIsNoAgreement) {
  Deployment deployment(kImage + conv("data", "c"));
  deployment.trained->blobs().write_param(*deployment.trained->layer_params("c")[1], {1, std::nanf(""), 1, 1});
  deployment.save();
  EXPECT_EQ(error_of([&] { deployment.run(); }).kind(), ErrorKind::kNumeric);
}

TEST(DeployNets, ShapesAreGivenWhereDataIsElsewhere) {
  const std::string layers = conv("data", "c") + kScores;
  Deployment deployment(input("dim: 2 dim: 1 dim: 10 dim: 11") + layers);
  deployment.def = parse_net(
      "layer { name: 'source' type: 'Data' top: 'data' top: 'label' data_param { source: 'absent' batch_size: 4 }\n"
      "  transform_param { scale: 0.5 } }\n" +
          layers + kLoss,
      "net.prototxt");
  const Error guessed = error_of([&] { deployment.run(); });
  EXPECT_EQ(guessed.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(guessed.fix(), "-shapes")) << guessed.what();
  deployment.options.shapes = {{"dat", Shape{1, 1, 10, 11}}};
  EXPECT_EQ(error_of([&] { deployment.run(); }).kind(), ErrorKind::kUsage);
  deployment.options.shapes = {{"data", Shape{3, 1, 10, 11}}};
  deployment.run();
  EXPECT_EQ(deployment.types(), (Types{"Input", "Convolution", "InnerProduct", "Softmax"}));
  EXPECT_EQ(deployment.net().layer(0).input_param().shape(0).dim(0), 3);
  EXPECT_TRUE(contains(read_file(deployment.folder / "out.transform.json"), "\"scale\": 0.5"));
}

TEST(DeployNets, InputsKeepTheirShapesUnlessABatchIsAskedFor) {
  Deployment deployment(kImage + conv("data", "c"));
  deployment.run();
  EXPECT_EQ(deployment.net().layer(0).input_param().shape(0).dim(0), 2);
  deployment.options.batch = 5;
  deployment.run();
  EXPECT_EQ(deployment.net().layer(0).input_param().shape(0).dim(0), 5);
}

TEST(DeployNets, ADifferenceIsSeen) {
  Deployment one(kImage + conv("data", "c"));
  Deployment other(kImage + conv("data", "c"));
  std::vector<float> bias = other.trained->blobs().read_param(*other.trained->layer_params("c")[1]);
  bias[2] += 0.01f;
  other.trained->blobs().write_param(*other.trained->layer_params("c")[1], bias);
  const std::vector<deploy::ComparedBlobs> blobs{{"c", "c"}};
  one.trained->forward({});
  other.trained->forward({});
  EXPECT_GT(deploy::compare(*one.trained, *other.trained, blobs).largest, deploy::kLargestDifference);
  EXPECT_EQ(deploy::compare(*one.trained, *one.trained, blobs).largest, 0);
}

/// Nets that have nothing to deploy, or are not sound.
TEST(DeployNets, StrangeNetsAreErrors) {
  const TempDir folder;
  deploy::DeployOptions options;
  options.weights = {"absent.caffemodel"};
  options.output = folder / "never";
  const auto error = [&](const std::string& text) {
    return error_of([&] { deploy::deploy(parse_net(text, "net.prototxt"), {}, options); });
  };
  EXPECT_EQ(error("").kind(), ErrorKind::kConfig);
  EXPECT_EQ(error(data_layer()).kind(), ErrorKind::kConfig);
  EXPECT_EQ(error(kImage).kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error(kImage + conv("dat", "c")).what(), "net.prototxt:2"));
  EXPECT_TRUE(contains(error(kImage + "layer { name: 'x' type: 'Convolutoin' bottom: 'data' top: 'x' }").what(),
                       "net.prototxt:2"));
  EXPECT_EQ(error("layer { name: 'p' type: 'Parameter' top: 'p' parameter_param { shape { dim: 2 } } }").kind(),
            ErrorKind::kConfig);
  EXPECT_EQ(error(kImage + conv("data", "c")).kind(), ErrorKind::kModel);  // no such weights
}

}  // namespace
}  // namespace robusta::test::deploy_nets_test
