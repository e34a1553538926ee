// What recurrent layers carry from one forward pass of a net to the next.

#include <gtest/gtest.h>

#include "base/str.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "net/planner/budget.h"
#include "net/report.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// x and cont of so many steps and streams, an LSTM with 3 units, and a RNN with 4 on top of it.
std::string recurrent_net(int steps, int streams) {
  return str("layer { name: 'in' type: 'Input' top: 'x' top: 'cont' input_param { shape { dim: ", steps,
             " dim: ", streams, " dim: 2 } shape { dim: ", steps, " dim: ", streams, R"( } } }
    layer { name: 'lstm' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'h'
            recurrent_param { num_output: 3 weight_filler { type: 'uniform' min: -1 max: 1 } } }
    layer { name: 'rnn' type: 'RNN' bottom: 'h' bottom: 'cont' top: 'o' loss_weight: 1
            recurrent_param { num_output: 4 weight_filler { type: 'uniform' min: -1 max: 1 } } })");
}

/// Steps from `first` on, of as many streams as the net has; cont is 1 everywhere.
std::vector<float> pass(Net& net, int64_t first) {
  const Shape shape = net.blobs().shape("x");
  std::vector<float> x;
  for (int64_t t = 0; t < shape[0]; ++t) {
    for (int64_t i = 0; i < shape.count(1); ++i)
      x.push_back(0.3f * static_cast<float>((3 * (first + t) + i) % 7) - 0.9f);
  }
  net.blobs().write("x", x);
  net.blobs().write("cont", std::vector<float>(static_cast<size_t>(net.blobs().shape("cont").count()), 1));
  net.forward({.batch = net.batch()});
  return net.blobs().read("o");
}

std::vector<float> tail(const std::vector<float>& all, size_t count) {
  return {all.end() - static_cast<std::ptrdiff_t>(count), all.end()};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << what << " " << i;
}

NetOptions on(Device& device) {
  NetOptions options;
  options.device = &device;
  return options;
}

TEST(Carried, APassGoesOnWhereTheLastOneStopped) {
  SimDevice plain(size_t{1} << 20), late(size_t{1} << 20, 300), emulated(size_t{1} << 20, 0, "emulated");
  for (Device* device :
       {&cpu_device(), static_cast<Device*>(&plain), static_cast<Device*>(&late), static_cast<Device*>(&emulated)}) {
    SCOPED_TRACE(device->name() + " " + device->kernel_kind());
    Net whole(net_def(recurrent_net(4, 2)), on(*device)), half(net_def(recurrent_net(2, 2)), on(*device));
    const std::vector<float> want = pass(whole, 0);
    const std::vector<float> first = pass(half, 0), second = pass(half, 2);
    expect_near(first, {want.begin(), want.begin() + 16}, "first pass");
    expect_near(second, tail(want, 16), "second pass");
  }
}

/// Passes that are recorded as graphs find the same states.
TEST(Carried, ManyPassesAreOne) {
  SimDevice device(size_t{1} << 20);
  Net whole(net_def(recurrent_net(12, 1)), on(cpu_device())), step(net_def(recurrent_net(2, 1)), on(device));
  const std::vector<float> want = pass(whole, 0);
  std::vector<float> got;
  for (int t = 0; t < 12; t += 2) {
    for (const float o : pass(step, t)) got.push_back(o);
    step.backward({.batch = step.batch()}, false);
  }
  expect_near(got, want, "all passes");
}

TEST(Carried, NetsThatShareParametersHaveTheirOwn) {
  Net train(net_def(recurrent_net(2, 2)), {});
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.share_params = &train;
  options.arena = train.options().arena;
  Net test(net_def(recurrent_net(2, 2), caffe::TEST), options);
  const std::vector<float> first = pass(train, 0);
  EXPECT_EQ(pass(test, 0), first);
  const std::vector<float> second = pass(train, 0);
  EXPECT_NE(second, first);
  EXPECT_EQ(pass(test, 0), second);
}

void set_streams(Net& net, int64_t streams) { net.reshape_inputs({{"x", {2, streams, 2}}, {"cont", {2, streams}}}); }

TEST(Carried, FewerStreamsGoOnAndMoreBeginAgain) {
  for (const std::string kernels : {"auto", "reference"}) {
    NetOptions options;
    options.kernels = kernels;
    Net net(net_def(recurrent_net(2, 3)), options), two(net_def(recurrent_net(2, 2)), options);
    pass(net, 0);
    pass(two, 0);
    set_streams(net, 2);
    const std::vector<float> second = pass(net, 2);
    expect_near(second, pass(two, 2), "fewer streams");
    set_streams(net, 4);
    Net four(net_def(recurrent_net(2, 4)), options);
    EXPECT_EQ(pass(net, 4), pass(four, 4));
  }
}

TEST(Carried, IsCounted) {
  const NetOptions options;
  const Net net(net_def(recurrent_net(2, 2)), options);
  EXPECT_EQ(carried_bytes(net.graph(), options), 3 * align_up(2 * 4 * sizeof(float)));
  const size_t params = memory_use(net, {}).params;
  EXPECT_EQ(fixed_bytes(net.graph(), options), carried_bytes(net.graph(), options) + 2 * params);
  EXPECT_EQ(memory_use(net, {}).activations,
            net.plan().arena_bytes + net.plan().persistent_bytes + carried_bytes(net.graph(), options));
}

}  // namespace
}  // namespace robusta::test
