// MultiBoxLoss in a net: devices agree, and its errors name it wherever it runs.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr char kDetector[] = R"(
  layer { name: "in" type: "Input" top: "x" top: "prior" top: "truth"
          input_param { shape { dim: 2 dim: 3 } shape { dim: 1 dim: 2 dim: 8 } shape { dim: 1 dim: 1 dim: 2 dim: 8 } } }
  layer { name: "loc" type: "InnerProduct" bottom: "x" top: "loc"
          inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
  layer { name: "conf" type: "InnerProduct" bottom: "x" top: "conf"
          inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "MultiBoxLoss" bottom: "loc" bottom: "conf" bottom: "prior" bottom: "truth" top: "loss"
          multibox_loss_param { num_classes: 3 code_type: CENTER_SIZE } })";

const std::vector<float> kPriors{0, 0, 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 0.1f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.2f, 0.2f};
const std::vector<float> kTruth{0, 1, 0, 0, 0, 0.5f, 0.4f, 0, 1, 2, 0, 0.5f, 0.6f, 1, 1, 0};

TEST(MultiBoxLossInNet, DevicesAgree) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  std::vector<double> losses;
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    options.seed = 3;
    Net net(net_def(kDetector), options);
    net.blobs().write("x", {1, 2, 3, -1, 0, 2});
    net.blobs().write("prior", kPriors);
    net.blobs().write("truth", kTruth);
    const Pass pass{.batch = net.batch()};
    for (int i = 0; i < 2; ++i) {
      losses.push_back(net.forward(pass));
      net.backward(pass, false);
    }
  }
  EXPECT_GT(losses[0], 0.1);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NEAR(losses[2], losses[0], 1e-5);
  EXPECT_EQ(losses[2], losses[3]);
}

TEST(MultiBoxLossInNet, ErrorsNameTheLayer) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    Net net(net_def(kDetector), options);
    net.blobs().write("x", {1, 2, 3, -1, 0, 2});
    net.blobs().write("prior", kPriors);
    std::vector<float> bad = kTruth;
    bad[9] = 3;
    net.blobs().write("truth", bad);
    const Error error = error_of([&] { net.forward({.batch = 2}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.layer(), "loss");
    EXPECT_TRUE(contains(error.what(), "row 1 of bottom 3 is of class 3, but classes are 0..2"));
    net.blobs().write("truth", kTruth);
    EXPECT_GT(net.forward({.batch = 2}), 0);
  }
}

}  // namespace
}  // namespace robusta::test
