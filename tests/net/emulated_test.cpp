// The GPU's kernels in a net, emulated on an accelerator with memory of its own.

#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

const char* const kLosses = R"(
  layer { name: "in" type: "Input" top: "x" top: "label" input_param { shape { dim: 4 dim: 5 } shape { dim: 4 } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "label" top: "loss" include { phase: TRAIN } }
  layer { name: "accuracy" type: "Accuracy" bottom: "x" bottom: "label" top: "share" include { phase: TEST } })";

TEST(Emulated, AgreesWithTheHost) {
  std::vector<float> results[2];
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  Device* const devices[2] = {&cpu_device(), &gpu};
  for (int i = 0; i < 2; ++i) {
    NetOptions options;
    options.device = devices[i];
    Net net(net_def(kBranchyNet), options);
    fill_inputs(net, 1);
    results[i] = run_once(net);
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_NEAR(results[0][i], results[1][i], 1e-5 * (1 + std::abs(results[0][i]))) << i;
  }
}

TEST(Emulated, LabelOutOfRangeEndsThePass) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    SimDevice gpu(size_t{1} << 20, 0, "emulated");
    NetOptions options;
    options.device = &gpu;
    options.phase = phase;
    options.backward = phase == caffe::TRAIN;
    Net net(net_def(kLosses, phase), options);
    const Pass pass{.first_sample = 80, .next_sample = 84, .batch = 4};
    fill_inputs(net, 1);
    EXPECT_NO_THROW(net.forward(pass));
    net.blobs().write("label", {0, 1, 5, 2});
    const Error error = error_of([&] { net.forward(pass); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_TRUE(contains(error.what(), "label 5 at sample 82 is out of range 0..4"));
    EXPECT_TRUE(contains(error.what(), phase == caffe::TRAIN ? "\"loss\"" : "\"accuracy\""));
    net.blobs().write("label", {0, 1, 4, 2});
    EXPECT_NO_THROW(net.forward(pass));
  }
}

}  // namespace
}  // namespace robusta::test
