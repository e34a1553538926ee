// Which shapes of weights fit into a layer.
#include <gtest/gtest.h>

#include "solver/files/weights.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

NetDef net_of(const std::string& field) {
  return net_def(
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 1 dim: 2 dim: 2 } } }\n"
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' " +
      field + " convolution_param { num_output: 1 kernel_size: 2 } }");
}

std::vector<float> copied(Net& net, std::vector<int64_t> weight, std::vector<int64_t> bias) {
  LayerWeights layer{"c", "", {}};
  layer.blobs.push_back({std::move(weight), false, {1, 2, 3, 4}});
  layer.blobs.push_back({std::move(bias), false, {5}});
  copy_weights({"", {layer}}, "w", net);
  return net.blobs().read_param(*net.layer_params("c")[0]);
}

const std::vector<float> kValues{1, 2, 3, 4};

TEST(CopiedWeights, HaveTheShapesOfTheNet) {
  Net net(net_of(""), {});
  EXPECT_EQ(copied(net, {1, 1, 2, 2}, {1}), kValues);
  EXPECT_EQ(error_of([&] { copied(net, {4, 1}, {1}); }).kind(), ErrorKind::kModel);
}

TEST(CopiedWeights, LeadingOnesSayNothing) {
  Net net(net_of(""), {});
  EXPECT_EQ(copied(net, {1, 1, 1, 2, 2}, {1, 1, 1, 1, 1}), kValues) << "C3D's Caffe writes biases of five axes";
  EXPECT_EQ(copied(net, {2, 2}, {}), kValues);
}

TEST(CopiedWeights, HaveAnyShapeWhereTheLayerSaysSo) {
  Net net(net_of("strict_dim: false"), {});
  EXPECT_EQ(copied(net, {1, 4}, {1}), kValues);
  net.blobs().write_param(*net.layer_params("c")[0], std::vector<float>(4));
  LayerWeights few{"c", "", {}};
  few.blobs.push_back({{3}, false, {1, 2, 3}});
  few.blobs.push_back({{1}, false, {5}});
  EXPECT_EQ(error_of([&] { copy_weights({"", {few}}, "w", net); }).kind(), ErrorKind::kModel);
  EXPECT_EQ(net.blobs().read_param(*net.layer_params("c")[0]), std::vector<float>(4));
}

}  // namespace
}  // namespace robusta::test
