// Which stage has which layer, and what is no pipeline.
#include "solver/pipeline/placement.h"

#include <gtest/gtest.h>

#include <map>

#include "schema/read_text.h"
#include "schema/splits.h"
#include "support/errors.h"

namespace robusta::test::pipeline_placement_test {
namespace {

NetDef net_of(const std::string& layers) {
  caffe::NetState state;
  state.set_phase(caffe::TRAIN);
  return net_in_state(parse_net(layers, "net.prototxt"), state);
}

std::string layer(const std::string& name, const std::string& bottoms, const std::string& top,
                  const std::string& more = "", const std::string& type = "InnerProduct") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "' ";
  for (const char bottom : bottoms) text += std::string("bottom: '") + bottom + "' ";
  return text + "top: '" + top + "'\n" + more + " }\n";
}

const std::string kData = "layer { name: 'data' type: 'DummyData' top: 'd' top: 'l' }\n";

std::string on(int device) { return "device: " + std::to_string(device); }

std::map<std::string, int> placed(const std::string& layers, int stages) {
  const NetDef net = net_of(layers);
  const std::vector<int> places = place_layers(net, stages);
  std::map<std::string, int> found;
  for (int i = 0; i < net.param.layer_size(); ++i) {
    found[net.param.layer(i).name()] = places[static_cast<size_t>(i)];
  }
  return found;
}

void expect_refused(const std::string& layers, int stages, const std::string& text) {
  const Error error = error_of([&] { place_layers(net_of(layers), stages); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), text)) << error.what();
}

TEST(PipelinePlacement, LayersAreWhereWhatTheyReadIsMade) {
  const auto found = placed(kData + layer("a", "d", "a", on(0)) + layer("r", "a", "a", "", "ReLU") +
                                layer("b", "a", "b", on(1)) + layer("c", "b", "c") + layer("loss", "cl", "loss"),
                            2);
  EXPECT_EQ(found.at("data"), 0);
  EXPECT_EQ(found.at("a"), 0);
  EXPECT_EQ(found.at("r"), 0);
  EXPECT_EQ(found.at("b"), 1);
  EXPECT_EQ(found.at("c"), 1);
  EXPECT_EQ(found.at("loss"), 1);
}

TEST(PipelinePlacement, OfSeveralPlacesTheLastCounts) {
  const auto found = placed(kData + layer("a", "d", "a", on(0)) + layer("b", "a", "b", on(2)) +
                                layer("c", "ab", "c", "", "Eltwise") + layer("z", "l", "z", on(1)),
                            3);
  EXPECT_EQ(found.at("c"), 2);
}

/// What one later stage reads twice is sent there once.
TEST(PipelinePlacement, SourcesAndSplitsAreWhereTheirFirstReaderIs) {
  const auto found =
      placed(kData + "layer { name: 'labels' type: 'DummyData' top: 'm' }\n" + layer("a", "d", "a", on(0)) +
                 layer("b", "a", "b", on(2)) + layer("c", "a", "c", on(1)) + layer("e", "a", "e", on(1)) +
                 layer("loss", "bm", "loss", "", "EuclideanLoss"),
             3);
  EXPECT_EQ(found.at("a_a_0_split"), 1);
  EXPECT_EQ(found.at("labels"), 2);
  EXPECT_EQ(found.at("data"), 0);
}

TEST(PipelinePlacement, RefusesDevicesThatAreNotListed) {
  expect_refused(kData + layer("a", "d", "a", on(2)), 2,
                 "net.prototxt:3: layer \"a\": device 2, and -gpu lists 2 GPUs; give a place in that list, 0 to 1");
  expect_refused(kData + layer("a", "d", "a", on(-1)), 2, "device -1, and -gpu lists 2 GPUs");
}

TEST(PipelinePlacement, RefusesWhatReadsFromLaterStages) {
  expect_refused(kData + layer("a", "d", "a", on(1)) + layer("b", "a", "b", on(0)), 2,
                 "net.prototxt:5: layer \"b\": device 0, and bottom \"a\" is made on device 1: a pipeline sends "
                 "forward alone; give 1 or a later device");
  // By way of a Split, too.
  expect_refused(kData + layer("a", "d", "a", on(1)) + layer("b", "a", "b", on(1)) + layer("c", "a", "c", on(0)), 2,
                 "layer \"c\": device 0, and bottom");
}

TEST(PipelinePlacement, RefusesToWorkInPlaceOnABlobOfAnotherStage) {
  expect_refused(kData + layer("a", "d", "a", on(0)) + layer("r", "a", "a", on(1), "ReLU"), 2,
                 "net.prototxt:5: layer \"r\": works in place on blob \"a\", which is made on device 0, and is on "
                 "device 1; give it a top of its own");
}

TEST(PipelinePlacement, RefusesParametersOfTwoStages) {
  const std::string shared = "param { name: 'w' } ";
  expect_refused(
      kData + layer("a", "d", "a", shared + on(0)) + layer("b", "a", "b", shared + on(1)), 2,
      "net.prototxt:5: layer \"b\": shares parameter \"w\" with layer \"a\" on device 0, and is on device 1");
}

TEST(PipelinePlacement, RefusesStagesWithoutLayers) {
  const NetDef net = net_of(kData + layer("a", "d", "a", on(0)) + layer("b", "a", "b", on(2)));
  const Error error = error_of([&] { require_all_stages(net, place_layers(net, 3), 3); });
  EXPECT_TRUE(contains(error.what(), "-gpu lists 3 GPUs, and no layer that is trained is on device 1")) << error.what();
}

TEST(PipelinePlacement, RefusesTestNetsOfAnotherPlacement) {
  const NetDef train = net_of(kData + layer("a", "d", "a", on(0)) + layer("b", "a", "b", on(1)));
  const NetDef test = net_of(kData + layer("a", "d", "a", on(0)) + layer("b", "a", "b", on(0)));
  const Error error =
      error_of([&] { require_same_places(train, place_layers(train, 2), test, place_layers(test, 2)); });
  EXPECT_TRUE(contains(error.what(), "layer \"b\": is on device 0 in the test net and on device 1 in the train net"))
      << error.what();
}

TEST(PipelinePlacement, KnowsNetsThatNameDevices) {
  EXPECT_FALSE(names_devices(net_of(kData + layer("a", "d", "a")).param));
  EXPECT_TRUE(names_devices(net_of(kData + layer("a", "d", "a", on(0))).param));
}

}  // namespace
}  // namespace robusta::test::pipeline_placement_test
