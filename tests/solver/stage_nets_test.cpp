// What of a net each stage has, and what crosses between them.
#include "solver/pipeline/stage_nets.h"

#include <gtest/gtest.h>

#include "net/net.h"
#include "solver/pipeline/placement.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test::stage_nets_test {
namespace {

const std::string kNet =
    "force_backward: true\n"
    "layer { name: 'data' type: 'DummyData' top: 'd' top: 'l' dummy_data_param { shape { dim: 4 dim: 3 }\n"
    "  shape { dim: 4 dim: 2 } } }\n"
    "layer { name: 'frozen' type: 'InnerProduct' bottom: 'd' top: 'f' param { lr_mult: 0 } param { lr_mult: 0 }\n"
    "  inner_product_param { num_output: 3 } }\n"
    "layer { name: 'a' type: 'InnerProduct' bottom: 'f' top: 'a' device: 1 inner_product_param { num_output: 2 } }\n"
    "layer { name: 'seen' type: 'Reduction' bottom: 'a' top: 'seen' }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' device: 2 inner_product_param { num_output: 2 } }\n"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'b' bottom: 'l' top: 'loss' }\n";

NetDef without_force(NetDef net) {
  net.param.clear_force_backward();
  return net;
}

StageNets cut(const NetDef& net, int stages) {
  NetOptions options;
  options.plan_only = true;
  const Net whole(without_force(net), options);
  return cut_into_stages(net, whole.graph(), place_layers(net, stages), stages);
}

std::vector<std::string> names_of(const NetDef& net) {
  std::vector<std::string> names;
  for (const caffe::LayerParameter& layer : net.param.layer()) names.push_back(layer.name());
  return names;
}

using Names = std::vector<std::string>;

TEST(StageNets, HaveTheirLayersAndInputsForWhatIsSent) {
  const StageNets pieces = cut(net_def(kNet), 3);
  EXPECT_EQ(names_of(pieces.nets[0]), (Names{"data", "frozen"}));
  EXPECT_EQ(names_of(pieces.nets[1]), (Names{"f of device 0", "a", "a_a_0_split", "seen"}));
  EXPECT_EQ(names_of(pieces.nets[2]), (Names{"a_a_0_split_1 of device 1", "l of device 0", "b", "loss"}));
  EXPECT_EQ(pieces.inputs[2], (Names{"a_a_0_split_1 of device 1", "l of device 0"}));
  EXPECT_EQ(pieces.outputs, (std::vector<Names>{{}, {"seen"}, {"loss"}}));
  for (const NetDef& net : pieces.nets) {
    EXPECT_FALSE(net.param.force_backward());
    EXPECT_EQ(net.sources.size(), static_cast<size_t>(net.param.layer_size()));
  }
}

/// Not below what learns, and not of labels.
TEST(StageNets, GradientsComeBackWhereTheyAreWanted) {
  const StageNets pieces = cut(net_def(kNet), 3);
  ASSERT_EQ(pieces.crossings.size(), 3u);
  const auto expect = [&](size_t i, const std::string& blob, const Shape& shape, int from, int to, bool gradient) {
    EXPECT_EQ(pieces.crossings[i].blob, blob);
    EXPECT_EQ(pieces.crossings[i].shape, shape);
    EXPECT_EQ(pieces.crossings[i].from, from);
    EXPECT_EQ(pieces.crossings[i].to, to);
    EXPECT_EQ(pieces.crossings[i].gradient, gradient);
  };
  expect(0, "f", {4, 3}, 0, 1, false);
  expect(1, "a_a_0_split_1", {4, 2}, 1, 2, true);
  expect(2, "l", {4, 2}, 0, 2, false);
}

TEST(StageNets, LayersThatWriteFilesAreRefusedWhereSeveralCopiesWould) {
  const std::string writer = "layer { name: 'out' type: 'MatWrite' bottom: 'b' mat_write_param { prefix: 'out/' } }\n";
  const Error error = error_of([&] { cut(net_def(kNet + writer), 3); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.layer(), "out") << error.what();
}

}  // namespace
}  // namespace robusta::test::stage_nets_test
