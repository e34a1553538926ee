// A net as SegNet is: what a pooling left out is put back by its mask.

#include <gtest/gtest.h>

#include <cmath>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr const char* kNet = R"(
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 7 } } }
    layer { name: "c" type: "Convolution" bottom: "x" top: "c"
            convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "bn" type: "BN" bottom: "c" top: "c" bn_param { scale_filler { value: 2 } shift_filler { } } }
    layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
    layer { name: "p" type: "Pooling" bottom: "c" top: "p" top: "mask" pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "u" type: "Upsample" bottom: "p" bottom: "mask" top: "u"
            upsample_param { upsample_h: 6 upsample_w: 7 } }
    layer { name: "n" type: "Normalize" bottom: "u" top: "n" norm_param { across_spatial: false channel_shared: false } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "n" bottom: "c" top: "loss" })";

std::vector<float> results(const NetOptions& options) {
  Net net(net_def(kNet), options);
  fill_inputs(net, 3);
  return run_once(net);
}

TEST(Upsampling, IsTrainedAsByTheReference) {
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  NetOptions reference, fast, accelerated;
  reference.kernels = "reference";
  accelerated.device = &gpu;
  const std::vector<float> want = results(reference);
  for (const NetOptions& options : {fast, accelerated}) {
    const std::vector<float> got = results(options);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i]))) << i;
  }
}

}  // namespace
}  // namespace robusta::test
