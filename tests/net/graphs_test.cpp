// Passes on an accelerator that are recorded as graphs, and batches that come ahead of them.

#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// Random input by the position, dropout, and parameters.
const char* const kDropoutNet = R"(
  layer { name: "t" type: "DummyData" top: "t" dummy_data_param {
            shape { dim: 4 dim: 5 } data_filler { type: "uniform" } } }
  layer { name: "d" type: "DummyData" top: "x" dummy_data_param {
            shape { dim: 4 dim: 3 dim: 6 dim: 6 } data_filler { type: "gaussian" } } }
  layer { name: "conv" type: "Convolution" bottom: "x" top: "c"
          convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "c" top: "c" }
  layer { name: "drop" type: "Dropout" bottom: "c" top: "c" dropout_param { dropout_ratio: 0.4 } }
  layer { name: "ip" type: "InnerProduct" bottom: "c" top: "y"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" })";

Pass pass_at(uint64_t number, uint64_t seed = 7) {
  return {.seed = seed, .first_sample = 4 * number, .next_sample = 4 * number + 4, .batch = 4};
}

/// Losses, and the gradients of each pass; every third pass adds to those before.
std::vector<double> train(Device& device, int passes, bool prefetch, GraphUse* use = nullptr) {
  NetOptions options;
  options.device = &device;
  Net net(net_def(kDropoutNet), options);
  std::vector<double> found;
  for (int i = 0; i < passes; ++i) {
    const Pass pass = pass_at(static_cast<uint64_t>(i));
    net.start_forward(pass);
    net.backward(pass, i % 3 == 2);
    if (prefetch) net.prefetch(pass_at(static_cast<uint64_t>(i) + 1));
    found.push_back(net.finish_forward());
    for (const ParamPtr& param : net.params()) {
      for (const float g : net.blobs().read_param_diff(*param)) found.push_back(g);
    }
  }
  if (use) *use = net.diagnostics().graphs();
  return found;
}

TEST(Graphs, RecordedPassesHaveTheBitsOfOthers) {
  SimDevice eager(size_t{8} << 20, 0, "emulated"), recording(size_t{8} << 20, 20, "emulated");
  eager.set_graphs(false);
  GraphUse use, none;
  const std::vector<double> expected = train(eager, 9, false, &none);
  EXPECT_EQ(train(recording, 9, false, &use), expected);
  EXPECT_EQ(use.why_not, "");
  EXPECT_EQ(use.recordings, 3);  // forward, backward, backward that adds
  EXPECT_EQ(none.recordings, 0);
  EXPECT_EQ(none.why_not, "switched off");
}

TEST(Graphs, BatchesAheadChangeNothing) {
  for (const char* kernels : {"emulated", "cpu"}) {
    SimDevice plain(size_t{8} << 20, 0, kernels), ahead(size_t{8} << 20, 0, kernels);
    ahead.set_lateness(3000, 0);
    EXPECT_EQ(train(ahead, 6, true), train(plain, 6, false)) << kernels;
  }
}

TEST(Graphs, AnotherSeedIsRecordedAnew) {
  SimDevice device(size_t{8} << 20, 0, "emulated"), eager(size_t{8} << 20, 0, "emulated");
  eager.set_graphs(false);
  std::vector<double> losses[2];
  for (int i = 0; i < 2; ++i) {
    NetOptions options;
    options.device = i == 0 ? &device : &eager;
    Net net(net_def(kDropoutNet), options);
    for (uint64_t n = 0; n < 8; ++n) losses[i].push_back(net.forward(pass_at(n, n < 4 ? 7 : 8)));
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(Graphs, ASteadyPassIsFewLaunchesAndOneWait) {
  SimDevice device(size_t{8} << 20, 0, "emulated");
  NetOptions options;
  options.device = &device;
  Net net(net_def(kDropoutNet), options);
  uint64_t launches = 0, waits = 0, synchronizations = 0, memory = 0;
  for (uint64_t i = 0; i < 6; ++i) {
    if (i == 5) {
      launches = device.launches(), waits = device.host_waits(), synchronizations = device.synchronizations();
      memory = device.bytes_in_use();
    }
    net.start_forward(pass_at(i));
    net.backward(pass_at(i), false);
    net.prefetch(pass_at(i + 1));
    net.finish_forward();
  }
  EXPECT_EQ(device.synchronizations(), synchronizations);
  EXPECT_EQ(device.bytes_in_use(), memory);
  EXPECT_LE(device.host_waits() - waits, 1u);
  // The position, two batches to the device, two more into their places, forward, the loss, backward.
  EXPECT_EQ(device.launches() - launches, 8u);
}

TEST(Graphs, WatchingEveryStepRecordsNothing) {
  SimDevice device(size_t{8} << 20, 0, "emulated");
  NetOptions options;
  options.device = &device;
  Net net(net_def(kDropoutNet), options);
  int seen = 0;
  net.diagnostics().set_step_watch([&](const std::string&, bool) { ++seen; });
  for (uint64_t i = 0; i < 3; ++i) net.forward(pass_at(i));
  EXPECT_EQ(seen, 3 * net.plan().backward_begin.number());
  EXPECT_EQ(net.diagnostics().graphs().recordings, 0);
  seen = 0;
  net.diagnostics().set_step_watch([&](const std::string&, bool) { ++seen; }, false);
  for (uint64_t i = 0; i < 3; ++i) net.forward(pass_at(i));
  EXPECT_EQ(seen, 3 * 3);  // two sources and the rest
  EXPECT_EQ(net.diagnostics().graphs().recordings, 1);
}

TEST(Graphs, AFailedPassLeavesTheNetUsable) {
  SimDevice device(size_t{1} << 20);
  NetOptions options;
  options.device = &device;
  Net net(net_def(R"(
    layer { name: "in" type: "Input" top: "x" top: "label" input_param { shape { dim: 4 dim: 5 } shape { dim: 4 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "label" top: "loss" })"),
          options);
  fill_inputs(net, 1);
  const double loss = net.forward(pass_at(0));
  net.blobs().write("label", {0, 1, 5, 2});
  const Error error = error_of([&] {
    net.start_forward(pass_at(1));
    net.backward(pass_at(1), false);
    net.finish_forward();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  fill_inputs(net, 1);
  EXPECT_EQ(net.forward(pass_at(2)), loss);
}

}  // namespace
}  // namespace robusta::test
