// A program may read blobs before a pass has computed them, and write between forward and backward: neither shows or
// touches memory that is not the blob's.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
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

Pass pass_of(const Net& net) { return {.batch = net.batch()}; }

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

/// Throws Error{kData} in backward, as forward would have.
void check_index(const std::string& layer, const std::string& x) {
  SCOPED_TRACE(layer);
  Net net(net_def("force_backward: true layer { name: 'in' type: 'Input' top: 'x' top: 'i' input_param { shape { " + x +
                  " } shape { dim: 2 } } } layer { name: 'l' top: 'y' " + layer + " }"),
          kept_on(cpu_device()));
  net.forward(pass_of(net));
  for (const float index : {1e6f, -5.0f}) {
    net.blobs().write("i", {0, index});
    EXPECT_EQ(error_of([&] { net.backward(pass_of(net), false); }).kind(), ErrorKind::kData);
  }
  net.blobs().write("i", {0, 1});
  EXPECT_NO_THROW(net.backward(pass_of(net), false));
}

TEST(Unforeseen, IndicesThatForwardHasNotSeen) {
  check_index("type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'i'", "dim: 2 dim: 3");
  check_index("type: 'BatchReindex' bottom: 'x' bottom: 'i'", "dim: 3 dim: 2");
  check_index("type: 'Embed' bottom: 'i' embed_param { input_dim: 3 num_output: 2 }", "dim: 1");
}

TEST(Unforeseen, MoreSelectorsThanForwardHasSeen) {
  SimDevice gpu(size_t{1} << 22, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    Net net(net_def(kFiltered), kept_on(*device));
    net.blobs().write("x", {1, 2, 3, 4, 5, 6, 7, 8});
    net.blobs().write("s", {0, 1, 0, 1});
    net.forward(pass_of(net));
    net.blobs().write("s", {1, 1, 1, 1});
    net.backward(pass_of(net), false);
    EXPECT_EQ(net.blobs().read_diff("p"), (std::vector<float>{12, 16, 28, 32, 0, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace robusta::test
