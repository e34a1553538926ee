// DetectionOutput in a net: how many rows it has follows from the values of three bottoms.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

constexpr char kDetector[] = R"(
  layer { name: "in" type: "Input" top: "loc" top: "conf" top: "features"
          input_param { shape { dim: 2 dim: 8 } shape { dim: 2 dim: 6 } shape { dim: 1 dim: 1 dim: 1 dim: 2 } } }
  layer { name: "prior" type: "PriorBox" bottom: "features" top: "prior"
          prior_box_param { min_size: 40 img_h: 100 img_w: 200 variance: 0.1 } }
  layer { name: "scaled" type: "Power" bottom: "conf" top: "scaled" power_param { scale: 0.5 } }
  layer { name: "out" type: "DetectionOutput" bottom: "loc" bottom: "scaled" bottom: "prior" top: "found"
          detection_output_param { num_classes: 3 code_type: CODE confidence_threshold: 0.1 } }
  layer { name: "post" type: "Power" bottom: "found" top: "shifted" power_param { shift: 1 } })";

std::string detector(const std::string& code) {
  std::string text = kDetector;
  return text.replace(text.find("CODE"), 4, code);
}

void expect_values(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << what << " " << i;
}

TEST(DetectionOutputInNet, RowsFollowEachPass) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    options.backward = false;
    options.keep_blobs = true;
    Net net(net_def(detector("CENTER_SIZE")), options);
    EXPECT_EQ(net.blobs().shape("found"), (Shape{1, 1, 1, 7}));
    net.blobs().write("loc", std::vector<float>(16, 0.0f));
    net.blobs().write("conf", {0, 0.5f, 0, 0, 0, 0.5f, 0, 0, 0, 0, 1, 1});
    const Pass pass{.batch = net.batch()};
    net.forward(pass);
    const std::vector<float> first{0, 1, 0.25f, 0.15f, 0.3f, 0.35f, 0.7f},
        second{0, 2, 0.25f, 0.65f, 0.3f, 0.85f, 0.7f}, third{1, 1, 0.5f, 0.65f, 0.3f, 0.85f, 0.7f},
        fourth{1, 2, 0.5f, 0.65f, 0.3f, 0.85f, 0.7f};
    std::vector<float> all = first;
    for (const auto& more : {second, third, fourth}) all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(net.blobs().shape("shifted"), (Shape{1, 1, 4, 7}));
    expect_values(net.blobs().read("found"), all, device->name());

    net.blobs().write("conf", std::vector<float>(12, 0.0f));
    net.forward(pass);
    EXPECT_EQ(net.blobs().shape("found"), (Shape{1, 1, 2, 7}));
    expect_values(net.blobs().read("shifted"), {1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0}, device->name());

    net.blobs().write("conf", {0, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    net.forward(pass);
    expect_values(net.blobs().read("found"), first, device->name());
  }
}

TEST(DetectionOutputInNet, ErrorsNameTheLayer) {
  std::string text = detector("CENTER_SIZE");
  text.replace(text.find("PriorBox"), 8, "Reshape");
  text.replace(text.find("prior_box_param"), text.find("variance: 0.1 }") + 15 - text.find("prior_box_param"),
               "reshape_param { shape { dim: 1 dim: 2 dim: 1 } }");
  NetOptions options;
  options.backward = false;
  const Error shape = error_of([&] { Net(net_def(text), options); });
  EXPECT_EQ(shape.layer(), "out");

  const std::string empty = R"(
    layer { name: "in" type: "Input" top: "loc" top: "conf" top: "prior"
            input_param { shape { dim: 1 dim: 4 } shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 dim: 4 } } }
    layer { name: "out" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "found"
            detection_output_param { num_classes: 2 code_type: CENTER_SIZE } })";
  Net net(net_def(empty), options);
  net.blobs().write("loc", {0, 0, 0, 0});
  net.blobs().write("conf", {0, 1});
  net.blobs().write("prior", std::vector<float>(8, 0.5f));
  const Error error = error_of([&] { net.forward({.batch = 1}); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.layer(), "out");
  EXPECT_TRUE(contains(error.what(), "prior box 0 is 0 wide and 0 high")) << error.what();
}

}  // namespace
}  // namespace robusta::test
