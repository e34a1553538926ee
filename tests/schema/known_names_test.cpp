// Names of other Caffes: absent, not unknown.
#include "schema/known_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "layers/kit/known_layers.h"
#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

Error of_net(const std::string& text) {
  return error_of([&] { parse_net(text, "n.prototxt"); });
}

TEST(KnownNames, FieldsOfForksAreAbsent) {
  const Error error = of_net("layer { name: 'p' pooling_param {\n blobs_a_min: 1 } }");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(
      std::string(error.what()),
      "n.prototxt:2: layer \"p\": field \"blobs_a_min\" (caffe-windows) is not in this build; remove it, if the net "
      "means the same without it");
  EXPECT_EQ(of_net("layer { correlation_param { } }").kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(of_net("layer { convolution_param { tf_pad: SAME } }").kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(of_net("layer { pooling_param { hole: 1 } }").kind(), ErrorKind::kConfig) << "another message's";
  EXPECT_EQ(of_net("layer { pooling_param { blobs_a: 1 } }").kind(), ErrorKind::kConfig) << "a part of a name";
}

TEST(KnownNames, ValuesOfForksAreAbsent) {
  EXPECT_EQ(of_net("layer { eltwise_param { operation: STOCHASTIC_SUM } }").kind(), ErrorKind::kUnsupported);
  const Error old = of_net("layers { name: 'i' type: DENSE_CRF }");
  EXPECT_EQ(old.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(
      contains(old.what(), "layer type \"DENSE_CRF\" (DeepLab) is not in this build; train the scores in front"))
      << old.what();
  EXPECT_EQ(of_net("layers { name: 'i' type: MIN }").kind(), ErrorKind::kConfig) << "a value of another field";
}

TEST(KnownNames, OfForksAreAbsentLayers) {
  EXPECT_EQ(who_knows_layer("BN"), "SegNet, PSPNet, caffe-windows");
  EXPECT_EQ(who_knows_layer("Truncation"), "caffe-windows");
  EXPECT_EQ(who_knows_layer("Accum"), "FlowNet 2, Synopsys");
  EXPECT_EQ(who_knows_layer("BoxGroupOutput"), "Cascade R-CNN");
  EXPECT_FALSE(who_knows_layer("Accum BlackAugmentation"));
  EXPECT_FALSE(who_knows_layer(""));
}

TEST(KnownNames, AFilmIsReadAsImages) {
  const NetDef net = parse_net(
      "layer { name: 'v' type: 'VideoData' top: 'data' video_data_param { video_type: WEBCAM } data_param { "
      "batch_size: 4 } }",
      "n.prototxt");
  const Error error = missing_in(net.param.layer(0)).at(0);
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.field(), "video_data_param");
  EXPECT_TRUE(contains(error.cause(), "cameras and of files of films (Intel, NVIDIA)")) << error.cause();
  EXPECT_TRUE(contains(error.fix(), "with ffmpeg, and read these with an ImageData layer")) << error.fix();
  EXPECT_TRUE(contains(way_round_layer("TRT"), "caffe export"));
  EXPECT_TRUE(
      contains(way_round_layer("MnActivation"), "layers that are cut redistribute their activations themselves"));
  EXPECT_EQ(way_round_layer("Truncation"), "");
}

TEST(KnownNames, ALabelMapIsNoNet) {
  const Error error = of_net("item {\n name: 'none_of_the_above'\n label: 0 }");
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "this is a label map, which names classes")) << error.what();
  EXPECT_TRUE(contains(error.what(), "a net is wanted here")) << error.what();
}

TEST(KnownNames, HaveEveryLayerOfTheThreeForks) {
  ROBUSTA_SHARED_FILE(table, "facts/layers.tsv");
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    const std::string type = line.substr(0, line.find('\t'));
    EXPECT_TRUE(who_knows_layer(type)) << type;
  }
  EXPECT_GT(rows, 80);
}

TEST(KnownNames, HaveEveryRule) {
  for (const char* rule : {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "SAG"}) {
    EXPECT_TRUE(who_knows_rule(rule)) << rule;
  }
  EXPECT_FALSE(who_knows_rule("SGDD"));
  EXPECT_FALSE(who_knows_layer("Poolling"));
}

}  // namespace
}  // namespace robusta::test
