// Scales and shifts that Intel's Caffe has put into BatchNorm layers.
#include "solver/files/second_pairs.h"

#include <gtest/gtest.h>

#include "solver/files/weights.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

const std::string kNet =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 2 dim: 3 dim: 3 } } }\n"
    "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'bn' batch_norm_param { filler { value: 1 } } }\n"
    "layer { name: 's' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }";

LayerWeights layer(const std::string& name, std::vector<std::vector<float>> arrays) {
  LayerWeights result{name, "", {}};
  for (std::vector<float>& array : arrays) {
    result.blobs.push_back({{static_cast<int64_t>(array.size())}, false, std::move(array)});
  }
  return result;
}

std::vector<std::vector<float>> params_of(Net& net, const std::string& name) {
  std::vector<std::vector<float>> values;
  for (const ParamPtr& param : net.layer_params(name)) values.push_back(net.blobs().read_param(*param));
  return values;
}

using Arrays = std::vector<std::vector<float>>;

TEST(SecondPairs, BelongToTheScaleLayer) {
  Net net(net_def(kNet), {});
  EXPECT_EQ(net.layer_params("bn").size(), 3u) << "one pair, that of the Scale layer";
  copy_weights({"", {layer("bn", {{1, 2}, {3, 4}, {1}, {5, 6}, {7, 8}})}}, "w", net);
  EXPECT_EQ(params_of(net, "bn"), (Arrays{{1, 2}, {3, 4}, {1}}));
  EXPECT_EQ(params_of(net, "s"), (Arrays{{5, 6}, {7, 8}}));
}

TEST(SecondPairs, AreComposedWithThoseOfTheScaleLayer) {
  Net net(net_def(kNet), {});
  copy_weights({"", {layer("bn", {{1, 2}, {3, 4}, {1}, {5, 6}, {7, 8}}), layer("s", {{2, 3}, {-1, 1}})}}, "w", net);
  EXPECT_EQ(params_of(net, "s"), (Arrays{{10, 18}, {13, 25}}));
}

TEST(SecondPairs, StayWhereTheNetHasThem) {
  Net net(net_def(kNet.substr(0, kNet.rfind('\n'))), {});
  const WeightsFile file{"", {layer("bn", {{1, 2}, {3, 4}, {1}, {5, 6}, {7, 8}})}};
  EXPECT_FALSE(with_moved_pairs(file, net));
  copy_weights(file, "w", net);
  EXPECT_EQ(params_of(net, "bn"), (Arrays{{1, 2}, {3, 4}, {1}, {5, 6}, {7, 8}}));
}

}  // namespace
}  // namespace robusta::test
