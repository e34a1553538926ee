// The executor on an accelerator with memory of its own.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

std::vector<float> run_on(Device& device, const std::string& kernels) {
  NetOptions options;
  options.device = &device;
  options.kernels = kernels;
  Net net(net_def(kBranchyNet), options);
  fill_inputs(net, 1);
  return run_once(net);
}

TEST(Sim, SameBitsAsOnTheHost) {
  SimDevice device(size_t{64} << 20);
  EXPECT_EQ(run_on(device, "reference"), run_on(cpu_device(), "reference"));
  EXPECT_EQ(device.bytes_in_use(), 0u);
}

TEST(Sim, SameBitsWhenWorkIsLate) {
  SimDevice device(size_t{64} << 20, 300);
  EXPECT_EQ(run_on(device, "auto"), run_on(cpu_device(), "auto"));
}

TEST(Sim, RunsInExactlyThePlannedMemory) {
  NetOptions options;
  Net planned(net_def(kBranchyNet), options);
  size_t params = 0;
  for (const ParamPtr& param : planned.params()) params += 2 * align_up(param->desc.bytes());
  const size_t needed = planned.plan().arena_bytes + planned.plan().persistent_bytes + params;
  {
    SimDevice device(needed);
    EXPECT_NO_THROW(run_on(device, "auto"));
    EXPECT_EQ(device.peak_bytes(), needed);
  }
  SimDevice small(needed - 1);
  try {
    run_on(small, "auto");
    FAIL() << "ran in less memory than planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  }
  EXPECT_EQ(small.bytes_in_use(), 0u);
}

TEST(Sim, DummyDataIsUploaded) {
  const char* text = R"(
    layer { name: "d" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 8 } data_filler { type: "gaussian" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } })";
  NetOptions host, sim;
  SimDevice device(size_t{1} << 20);
  sim.device = &device;
  Net a(net_def(text), host), b(net_def(text), sim);
  const Pass pass{.seed = 1, .batch = 2};
  a.forward(pass);
  b.forward(pass);
  EXPECT_EQ(a.blobs().read("y"), b.blobs().read("y"));
  EXPECT_EQ(device.bytes_to_device() >= 64, true);
}

}  // namespace
}  // namespace robusta::test
