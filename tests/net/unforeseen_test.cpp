// A program may read blobs before a pass has computed them.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr char kFiltered[] = R"(force_backward: true
  layer { name: "in" type: "Input" top: "x" top: "s" input_param { shape { dim: 4 dim: 2 } shape { dim: 4 } } }
  layer { name: "pre" type: "Power" bottom: "x" top: "p" power_param { scale: 2 } }
  layer { name: "f" type: "Filter" bottom: "p" bottom: "s" top: "y" }
  layer { name: "sum" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1
          reduction_param { operation: SUMSQ } })";

NetOptions kept_on(Device& device) {
  NetOptions options;
  options.device = &device;
  options.keep_blobs = options.poison = true;
  return options;
}

TEST(Unforeseen, BlobsAreZeroBeforeAnythingHasRun) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    const Net net(net_def(kFiltered), kept_on(*device));
    for (const char* blob : {"x", "s", "p", "y", "loss"}) {
      const auto count = static_cast<size_t>(net.blobs().shape(blob).count());
      EXPECT_EQ(net.blobs().read(blob), std::vector<float>(count)) << blob;
      const float gradient = blob == std::string("loss") ? 1 : 0;
      EXPECT_EQ(net.blobs().read_diff(blob), std::vector<float>(count, gradient)) << blob;
    }
  }
}

}  // namespace
}  // namespace robusta::test
