// Layers of plugins where passes are recorded as graphs: what they are told of a pass is that pass's.

#define ROBUSTA_INSIDE  // the engine's net runs on the fake accelerator, which the public one does not offer

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "robusta/layer.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

int runs = 0;

/// Gives the position of the batch.
class Position : public v1::Layer {
 public:
  std::vector<v1::Shape> infer_tops(const std::vector<v1::Shape>& bottoms) override { return bottoms; }
  bool runs_on(const std::string& device, v1::DType) const override { return device == "cuda"; }
  void forward(const v1::KernelCall& call) override {
    ++runs;
    call.tops[0].as<float>()[0] = static_cast<float>(call.first_sample);
  }
};

TEST(PluginGraphTest, EveryPassHasItsOwnPosition) {
  v1::register_layer("TestPosition", [](const v1::LayerSpec&) { return std::make_unique<Position>(); });
  SimDevice device(size_t{1} << 20, 0, "cuda");
  NetOptions options;
  options.device = &device;
  options.backward = false;
  Net net(net_def("layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }"
                  "layer { name: 'at' type: 'TestPosition' bottom: 'x' top: 'y' }"),
          options);
  for (uint64_t first = 0; first < 5; ++first) {
    net.forward({.seed = 1, .first_sample = first, .next_sample = first + 1, .batch = 1});
    EXPECT_EQ(net.blobs().read("y"), std::vector<float>{static_cast<float>(first)});
  }
  EXPECT_EQ(runs, 5);
}

}  // namespace
}  // namespace robusta::test
