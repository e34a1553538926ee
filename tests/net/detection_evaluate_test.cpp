// DetectionEvaluate in a net: how many rows it has follows from the values of its first bottom.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr char kEvaluation[] = R"(
  layer { name: "in" type: "Input" top: "found" top: "truth"
          input_param { shape { dim: 1 dim: 1 dim: 2 dim: 7 } shape { dim: 1 dim: 1 dim: 1 dim: 8 } } }
  layer { name: "evaluate" type: "DetectionEvaluate" bottom: "found" bottom: "truth" top: "rows"
          detection_evaluate_param { num_classes: 2 } })";

TEST(DetectionEvaluateInNet, RowsFollowEachPass) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    options.backward = false;
    Net net(net_def(kEvaluation), options);
    net.blobs().write("truth", {0, 1, 0, 0, 0, 1, 1, 0});
    net.blobs().write("found", {0, 1, 0.5f, 0, 0, 1, 1, 0, 1, 0.25f, 0, 0, 1, 1});
    net.forward({.batch = 1});
    EXPECT_EQ(net.blobs().shape("rows"), (Shape{1, 1, 3, 5})) << device->name();
    EXPECT_EQ(net.blobs().read("rows"), (std::vector<float>{-1, 1, 1, -1, -1, 0, 1, 0.5f, 1, 0, 0, 1, 0.25f, 0, 1}));
    net.blobs().write("found", {0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    net.forward({.batch = 1});
    EXPECT_EQ(net.blobs().read("rows"), (std::vector<float>{-1, 1, 1, -1, -1})) << device->name();
    net.blobs().write("found", {0, 1, 0.5f, 0, 0, 0.1f, 1, 0, -1, -1, -1, -1, -1, -1});
    net.forward({.batch = 1});
    EXPECT_EQ(net.blobs().read("rows"), (std::vector<float>{-1, 1, 1, -1, -1, 0, 1, 0.5f, 0, 1})) << device->name();
  }
}

TEST(DetectionEvaluateInNet, ErrorsNameTheLayer) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    options.backward = false;
    Net net(net_def(kEvaluation), options);
    net.blobs().write("truth", {0, 2, 0, 0, 0, 1, 1, 0});
    net.blobs().write("found", {0, 1, 0.5f, 0, 0, 1, 1, 0, 1, 0.25f, 0, 0, 1, 1});
    const Error error = error_of([&] { net.forward({.batch = 1}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.layer(), "evaluate");
    EXPECT_TRUE(contains(error.what(), "row 0 of bottom 1 is of class 2, but classes are 0..1")) << device->name();
  }
}

}  // namespace
}  // namespace robusta::test
