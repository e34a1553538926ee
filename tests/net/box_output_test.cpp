// BoxOutput and DecodeBBox in a net: how many regions there are follows from the values of each pass.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// A map of 2 x 2 cells of 8 pixels, and codes that a layer makes of the regions.
constexpr char kProposals[] = R"(
  layer { name: "in" type: "Input" top: "map" input_param { shape { dim: 1 dim: 6 dim: 2 dim: 2 } } }
  layer { name: "scaled" type: "Power" bottom: "map" top: "scaled" power_param { scale: 2 } }
  layer { name: "boxes" type: "BoxOutput" bottom: "scaled" top: "regions" top: "scores"
          box_output_param { field_w: 8 field_h: 8 downsample_rate: 8 min_size: 1 fg_thr: 1 } }
  layer { name: "codes" type: "InnerProduct" bottom: "regions" top: "codes" inner_product_param { num_output: 8 } }
  layer { name: "decoded" type: "DecodeBBox" bottom: "codes" bottom: "regions" top: "decoded" }
  layer { name: "post" type: "Power" bottom: "decoded" top: "post" power_param { shift: 1 } })";

/// Scores of the foreground above those of the background, half of them.
std::vector<float> map_of(const std::vector<float>& scores) {
  std::vector<float> values(24);
  for (size_t cell = 0; cell < 4; ++cell) values[4 + cell] = scores[cell] / 2;
  return values;
}

TEST(BoxOutputInNet, RegionsFollowEachPass) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
      NetOptions options;
      options.device = device;
      options.backward = false;
      options.keep_blobs = true;
      NetDef def = net_def(kProposals);
      for (caffe::LayerParameter& layer : *def.param.mutable_layer()) layer.set_phase(phase);
      Net net(def, options);
      EXPECT_EQ(net.blobs().shape("regions"), (Shape{1, 5, 1, 1}));
      const Pass pass{.batch = net.batch()};
      net.blobs().write("map", map_of({3, 0, 2, 0}));
      net.forward(pass);
      EXPECT_EQ(net.blobs().shape("regions"), (Shape{2, 5, 1, 1}));
      EXPECT_EQ(net.blobs().read("regions"), (std::vector<float>{0, 0, 0, 8, 8, 0, 0, 8, 8, 16}));
      EXPECT_EQ(net.blobs().read("scores"), (std::vector<float>{0, 0, 0, 8, 8, 3, 0, 0, 8, 8, 16, 2}));
      // Codes of 0 leave regions where they are.
      EXPECT_EQ(net.blobs().read("post"), (std::vector<float>{1, 1, 1, 9, 9, 1, 1, 9, 9, 17}));
      net.blobs().write("map", map_of({0, 0, 0, 0}));
      net.forward(pass);
      EXPECT_EQ(net.blobs().read("post"), (std::vector<float>{1, 2, 2, 11, 11}));
      net.blobs().write("map", map_of({4, 3, 2, 1}));
      net.forward(pass);
      EXPECT_EQ(net.blobs().shape("post"), (Shape{4, 5, 1, 1}));
    }
  }
}

}  // namespace
}  // namespace robusta::test
